//! The answer to a request: one object, or one for each token of a stream.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use serde_json::{Map, Value, json};

use super::recording::{Choice, TurnPrompt, finish_reason};
use super::request::{Request, Style};
use super::server::Server;
use super::tool_calls::tool_calls;
use super::worker::RequestEvent;
use decoder::generation::{Finish, GenerationError};

pub(super) struct Answer {
    server: Arc<Server>,
    id: String,
    /// Seconds since 1970.
    created: u64,
    request: Arc<Request>,
    choices: Vec<Choice>,
}

impl Answer {
    /// Answers now; `name` is unique among answers.
    pub(super) fn new(server: Arc<Server>, name: &str, request: Arc<Request>) -> Self {
        let prefix = match request.style {
            Style::Completion => "cmpl",
            Style::Chat => "chatcmpl",
        };
        let created = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        let choices = (0..request.prompts.len())
            .flat_map(|prompt| {
                (0..request.options.samples).map(move |_| Choice { prompt, ..Choice::default() })
            })
            .collect();
        Self { server, id: format!("{prefix}-{name}"), created, request, choices }
    }

    /// Takes an event of the model; for a stream, returns the object to send, if any.
    pub(super) fn on_event(
        &mut self,
        event: RequestEvent,
    ) -> Result<Option<Value>, GenerationError> {
        match event {
            RequestEvent::Failed(error) => Err(error),
            RequestEvent::Scored { prompt, log_prob } => {
                for choice in self.choices.iter_mut().filter(|choice| choice.prompt == prompt) {
                    choice.prompt_log_prob.clone_from(&log_prob);
                }
                Ok(None)
            }
            RequestEvent::Drawn { prompt, drawing, version } => {
                let index = prompt * self.request.options.samples + drawing.sample;
                let choice = &mut self.choices[index];
                choice.token_ids.push(drawing.token_id);
                choice.log_prob.push(drawing.log_prob);
                choice.top.push(drawing.top);
                (choice.finish, choice.version) = (drawing.finish, version);
                let stops = self.request.options.stop_strings.as_deref();
                let new = choice.new_text(&self.server.reader.tokenizer, stops)?;
                choice.text.push_str(&new);
                if self.request.streams {
                    return Ok(Some(self.chunk(index, &new)?));
                }
                let is_read = choice.finish.is_some() && self.request.calls_tools;
                if is_read && let Some((content, calls)) = tool_calls(&choice.text) {
                    (choice.text, choice.calls) = (content, calls);
                }
                Ok(None)
            }
        }
    }

    pub(super) fn is_whole(&self) -> bool {
        self.request.only_echo || self.choices.iter().all(|choice| choice.finish.is_some())
    }

    fn tokenizer(&self) -> &TextTokenizer {
        &self.server.reader.tokenizer
    }

    fn object(&self, is_chunk: bool, choices: &[Value]) -> Value {
        let object = match (self.request.style, is_chunk) {
            (Style::Completion, _) => "text_completion",
            (Style::Chat, false) => "chat.completion",
            (Style::Chat, true) => "chat.completion.chunk",
        };
        let (Self { id, created, .. }, model) = (self, &self.server.reader.model_name);
        json!({"id": id, "object": object, "created": created, "model": model, "choices": choices})
    }

    /// Builds the object for the last token of a response.
    fn chunk(&self, index: usize, new: &str) -> Result<Value, TokenizerError> {
        let choice = &self.choices[index];
        let last = choice.token_ids.len() - 1;
        let (name, content) = match self.request.style {
            Style::Completion => ("text", json!(new)),
            Style::Chat if last == 0 => ("delta", json!({"content": new, "role": "assistant"})),
            Style::Chat => ("delta", json!({"content": new})),
        };
        let log_probs = self.log_probs(choice, last)?;
        let finish = choice.finish.map(finish_reason);
        let mut told = json!({
            "index": index, name: content, "logprobs": log_probs, "finish_reason": finish,
        });
        if self.request.tells_token_ids {
            told["token_ids"] = json!([choice.token_ids[last]]);
        }
        Ok(self.object(true, &[told]))
    }

    /// Builds the object after the last token of a stream, if requested.
    pub(super) fn usage_chunk(&self) -> Option<Value> {
        self.request.stream_usage.then(|| {
            let mut object = self.object(true, &[]);
            object["usage"] = self.usage();
            object
        })
    }

    pub(super) fn whole(&self) -> Result<Value, TokenizerError> {
        let mut choices = Vec::with_capacity(self.choices.len());
        for (index, choice) in self.choices.iter().enumerate() {
            let finish = match choice.finish {
                Some(Finish::Stop | Finish::StopString) if !choice.calls.is_empty() => "tool_calls",
                finish => finish.map_or("length", finish_reason),
            };
            let prompt = &self.request.prompts[choice.prompt].token_ids;
            let (name, content) = match self.request.style {
                Style::Completion => {
                    let before = if self.request.echo {
                        self.tokenizer().decode(prompt)?
                    } else {
                        String::new()
                    };
                    ("text", json!(before + &choice.text))
                }
                Style::Chat => ("message", self.message(index)),
            };
            let log_probs = self.log_probs(choice, 0)?;
            let mut told = json!({
                "index": index, name: content, "logprobs": log_probs, "finish_reason": finish,
            });
            if self.request.tells_token_ids {
                told["token_ids"] = json!(choice.token_ids);
                told["prompt_token_ids"] = json!(prompt);
            }
            choices.push(told);
        }
        let mut object = self.object(false, &choices);
        object["usage"] = self.usage();
        Ok(object)
    }

    /// The assistant's turn; its content is null if it only calls tools.
    fn message(&self, index: usize) -> Value {
        let Choice { text, calls, .. } = &self.choices[index];
        let content = (calls.is_empty() || !text.is_empty()).then_some(text);
        let mut message = json!({"role": "assistant", "content": content, "refusal": null});
        if !calls.is_empty() {
            let id = &self.id;
            let told = calls.iter().enumerate();
            message["tool_calls"] =
                told.map(|(n, call)| call.told(&format!("call-{id}-{index}-{n}"))).collect();
        }
        message
    }

    /// The prompt and its only answer, if it is one of a rollout.
    pub(super) fn recorded(&self) -> Option<(&TurnPrompt, &Choice)> {
        self.request.turn.as_ref()?;
        self.request.prompts.first().zip(self.choices.first())
    }

    /// Numbers of prompt tokens and of drawn ones.
    pub(super) fn tokens(&self) -> [u64; 2] {
        let prompt: usize = self.request.prompts.iter().map(|prompt| prompt.token_ids.len()).sum();
        let drawn: usize = self.choices.iter().map(|choice| choice.token_ids.len()).sum();
        [prompt as u64, drawn as u64]
    }

    fn usage(&self) -> Value {
        let [prompt, drawn] = self.tokens();
        json!({"prompt_tokens": prompt, "completion_tokens": drawn, "total_tokens": prompt + drawn})
    }

    /// Log-probabilities of the tokens from `first` on, in the format of the interface; null if not requested.
    fn log_probs(&self, choice: &Choice, first: usize) -> Result<Value, TokenizerError> {
        if self.request.log_probs.is_none() {
            return Ok(Value::Null);
        }
        if self.request.style == Style::Completion {
            return self.completion_log_probs(choice, first);
        }
        let one = |id: u32, log_prob: f64| -> Result<Value, TokenizerError> {
            let text = self.tokenizer().decode_raw(&[id])?;
            // Part of a character has bytes that its text does not say.
            let bytes =
                (!text.contains(char::REPLACEMENT_CHARACTER)).then(|| text.as_bytes().to_vec());
            Ok(json!({"token": text, "logprob": log_prob, "bytes": bytes}))
        };
        let content = (first..choice.token_ids.len()).map(|index| {
            let mut told = one(choice.token_ids[index], choice.log_prob[index])?;
            let top = choice.top[index].iter().map(|&(id, log_prob)| one(id, log_prob));
            told["top_logprobs"] = top.collect::<Result<_, _>>()?;
            Ok(told)
        });
        Ok(json!({"content": content.collect::<Result<Vec<Value>, _>>()?, "refusal": null}))
    }

    /// Builds four columns: tokens, log-probabilities, most likely alternatives, and offsets in the text.
    fn completion_log_probs(&self, choice: &Choice, first: usize) -> Result<Value, TokenizerError> {
        let tokenizer = self.tokenizer();
        let (mut texts, mut log_probs, mut tops) = (Vec::new(), Vec::new(), Vec::new());
        if self.request.echo {
            for (place, id) in self.request.prompts[choice.prompt].token_ids.iter().enumerate() {
                texts.push(tokenizer.decode_raw(&[*id])?);
                // The first token is given: nothing says how likely it is.
                let log_prob = place.checked_sub(1).and_then(|at| choice.prompt_log_prob.get(at));
                log_probs.push(json!(log_prob));
                tops.push(Value::Null);
            }
        }
        for index in first..choice.token_ids.len() {
            texts.push(tokenizer.decode_raw(&[choice.token_ids[index]])?);
            log_probs.push(json!(choice.log_prob[index]));
            let mut top = Map::new();
            for &(id, log_prob) in &choice.top[index] {
                // Several tokens may have one text: the likeliest keeps it.
                top.entry(tokenizer.decode_raw(&[id])?).or_insert(json!(log_prob));
            }
            tops.push(Value::Object(top));
        }
        // Some decoders fail on no tokens.
        let mut offset = match first {
            0 => 0,
            _ => tokenizer.decode_raw(&choice.token_ids[..first])?.chars().count(),
        };
        let start_of = |text: &String| {
            let next = offset + text.chars().count();
            std::mem::replace(&mut offset, next)
        };
        let offsets: Vec<usize> = texts.iter().map(start_of).collect();
        Ok(json!({
            "tokens": texts, "token_logprobs": log_probs, "top_logprobs": tops, "text_offset": offsets,
        }))
    }
}
