//! Prompts as token ids: of texts, of ids and of conversations, each behind what is recorded of its rollout.

use serde_json::Value;

use super::conversation::Conversation;
use super::error::ApiError;
use super::fields::Fields;
use super::recording::{Recording, TurnPrompt};
use super::request::Reader;

/// Most prompts of one request.
const MOST_PROMPTS: usize = 256;

impl Reader {
    /// Reads the prompts of a completion: a text, token ids, or several of either.
    pub(super) fn prompts(
        &self,
        fields: &mut Fields,
        recording: Option<&Recording>,
    ) -> Result<Vec<TurnPrompt>, ApiError> {
        let expected = "a text, a list of token ids, or a list of these";
        let value = fields.required("prompt", expected, |value| Some(value.clone()))?;
        let list = match &value {
            Value::Array(list) if list.iter().any(|one| !one.is_number()) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        if list.len() > MOST_PROMPTS {
            let problem = format!("holds {} prompts, expected at most {MOST_PROMPTS}", list.len());
            return Err(ApiError::field("prompt", &problem));
        }
        let none = format!("is no prompt, expected {expected}");
        let one = |value: &Value| -> Result<TurnPrompt, ApiError> {
            let prompt = match value {
                Value::String(text) => self.text_prompt("prompt", text.clone(), 0, recording)?,
                Value::Array(ids) => {
                    let token_ids = self.token_ids("prompt", ids)?;
                    let continued = recording.and_then(|recording| {
                        recording.continued(|one| token_ids.starts_with(&one.token_ids))
                    });
                    let continued = continued.map(|(index, one)| (index, one.token_ids.len()));
                    TurnPrompt { token_ids, text: None, continued, messages: 0 }
                }
                _ => return Err(ApiError::field("prompt", &none)),
            };
            if prompt.token_ids.is_empty() {
                return Err(ApiError::field("prompt", "is empty, expected at least one token"));
            }
            Ok(prompt)
        };
        list.iter().map(one).collect()
    }

    pub(super) fn token_ids(&self, name: &str, ids: &[Value]) -> Result<Vec<u32>, ApiError> {
        let good = |id: &Value| {
            let id = u32::try_from(id.as_u64()?).ok()?;
            ((id as usize) < self.vocab_size).then_some(id)
        };
        let bad = || {
            let expected =
                format!("holds no token id, expected whole numbers below {}", self.vocab_size);
            ApiError::field(name, &expected)
        };
        ids.iter().map(|id| good(id).ok_or_else(bad)).collect()
    }

    pub(super) fn encode(&self, name: &str, text: &str) -> Result<Vec<u32>, ApiError> {
        self.tokenizer.encode(text).map_err(|error| ApiError::field(name, &error.to_string()))
    }

    /// The tokens of a prompt. Those of a recorded sequence that its text begins with are taken as they were drawn.
    fn text_prompt(
        &self,
        name: &str,
        text: String,
        messages: usize,
        recording: Option<&Recording>,
    ) -> Result<TurnPrompt, ApiError> {
        let sequence =
            recording.and_then(|recording| recording.continued(|one| text.starts_with(&one.text)));
        let (mut token_ids, recorded) =
            sequence.map_or((Vec::new(), 0), |(_, one)| (one.token_ids.clone(), one.text.len()));
        let continued = sequence.map(|(index, _)| (index, token_ids.len()));
        token_ids.extend(self.encode(name, &text[recorded..])?);
        Ok(TurnPrompt { token_ids, text: Some(text), continued, messages })
    }

    /// Renders a conversation in the model's chat template, with the assistant's turn opened.
    pub(super) fn conversation(
        &self,
        conversation: &Conversation,
        recording: Option<&Recording>,
    ) -> Result<TurnPrompt, ApiError> {
        let Some(template) = &self.template else {
            let problem =
                "cannot be used: the model has no chat template, expected /v1/completions";
            return Err(ApiError::field("messages", problem));
        };
        let prompt = |text: String| {
            self.text_prompt("messages", text, conversation.messages.len(), recording)
        };
        let mut rendered = prompt(conversation.render(template, recording)?)?;
        if recording.is_some() && rendered.continued.is_none() {
            // Nothing is continued: the conversation counts as the client has written it.
            rendered = prompt(conversation.render(template, None)?)?;
        }
        if rendered.token_ids.is_empty() {
            return Err(ApiError::field("messages", "have no token, expected at least one"));
        }
        Ok(rendered)
    }
}
