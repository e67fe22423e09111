//! Conversion of a question to the token ids of its prompt.

use model_files::chat_template::{ChatTemplate, ChatTemplateError, Message};
use model_files::section;
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::dataset::Question;

section! {
    /// Form of a prompt.
    #[derive(Eq)]
    pub struct PromptFormat {
        /// System message, which needs `chat = true`; empty for none.
        pub system: String = String::new(),
        /// Text of the question; `{problem}` is the problem.
        pub template: String = "{problem}".to_owned(),
        /// Pass the text as a user's turn to the chat template; otherwise it is the prompt itself.
        pub chat: bool = true,
    }
}

/// Treatment of a prompt longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverLongPrompt {
    /// Does not start the run.
    #[default]
    Error,
    /// Leaves the question out, and counts it.
    Drop,
    /// Removes tokens at the start until it fits, and counts it: the end of the question stays.
    TruncateLeft,
}

/// Error of questions that did not become prompts.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PromptError {
    /// A question, all of them or the model does not fit the settings of prompts.
    #[error("{0}")]
    Settings(String),
    /// The template failed.
    #[error(transparent)]
    Template(#[from] ChatTemplateError),
    /// The tokenizer failed.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// A fault of one question.
fn fault(id: &str, problem: &str) -> PromptError {
    PromptError::Settings(format!("question `{id}`: {problem}"))
}

/// A question and the tokens of its prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The question.
    pub question: Question,
    /// Token ids, `[prompt_tokens]`.
    pub tokens: Vec<u32>,
}

/// Prompts of a data set, and the number of questions that were too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompts {
    /// Prompts to use, in the order of the questions.
    pub prompts: Vec<Prompt>,
    /// Number of questions left out by [`OverLongPrompt::Drop`].
    pub dropped: usize,
    /// Number of prompts shortened by [`OverLongPrompt::TruncateLeft`].
    pub truncated: usize,
}

impl Prompts {
    /// Returns warnings about prompts that were too long, one sentence each.
    pub fn notes(&self) -> Vec<String> {
        let note = |count: usize, what: &str| {
            (count > 0)
                .then(|| format!("{count} prompts longer than data.max_prompt_tokens were {what}"))
        };
        let dropped = note(self.dropped, "left out");
        dropped.into_iter().chain(note(self.truncated, "shortened on the left")).collect()
    }
}

impl PromptFormat {
    /// Returns the prompt of a question, as text: a row's earlier turns come before the problem.
    ///
    /// # Errors
    ///
    /// [`PromptError`]: the template's error, a missing template, earlier turns without one, or a second system message.
    pub fn question_text(
        &self,
        question: &Question,
        chat_template: Option<&ChatTemplate>,
    ) -> Result<String, PromptError> {
        let context = &question.context;
        if !self.chat && !context.is_empty() {
            let problem = "has turns before the last, expected one turn where prompt.chat is false";
            return Err(fault(&question.id, problem));
        }
        if !self.system.is_empty() && context.iter().any(|turn| turn.role == "system") {
            let problem =
                "has a system message of its own, expected none where prompt.system is set";
            return Err(fault(&question.id, problem));
        }
        let last = self.template.replace("{problem}", &question.problem);
        if !self.chat {
            return Ok(last);
        }
        let template = chat_template.ok_or_else(|| {
            PromptError::Settings(
                "prompt: chat is true, but the model directory has no chat template, expected chat_template.jinja or \
                 chat_template in tokenizer_config.json"
                    .to_owned(),
            )
        })?;
        let mut messages = Vec::new();
        if !self.system.is_empty() {
            messages.push(Message::new("system", &self.system));
        }
        messages.extend_from_slice(context);
        messages.push(Message::new("user", last));
        Ok(template.render(&messages, true)?)
    }

    /// Returns the prompts of many questions.
    ///
    /// # Errors
    ///
    /// [`PromptError`], naming the question.
    pub fn prompts(
        &self,
        questions: Vec<Question>,
        tokenizer: &TextTokenizer,
        chat_template: Option<&ChatTemplate>,
        max_prompt_tokens: usize,
        over_long: OverLongPrompt,
    ) -> Result<Prompts, PromptError> {
        let most = max_prompt_tokens;
        let mut prompts = Vec::with_capacity(questions.len());
        let mut over = 0;
        let mut longest: Option<(usize, String)> = None;
        for question in questions {
            let mut tokens = tokenizer.encode(&self.question_text(&question, chat_template)?)?;
            let length = tokens.len();
            if length == 0 {
                let problem = "the prompt has no tokens, expected at least one";
                return Err(fault(&question.id, problem));
            }
            if length > most {
                over += 1;
                match over_long {
                    OverLongPrompt::TruncateLeft => drop(tokens.drain(..length - most)),
                    OverLongPrompt::Drop => continue,
                    OverLongPrompt::Error => {
                        if longest.as_ref().is_none_or(|(tokens, _)| length > *tokens) {
                            longest = Some((length, question.id));
                        }
                        continue;
                    }
                }
            }
            prompts.push(Prompt { question, tokens });
        }
        if let Some((tokens, id)) = longest {
            let problem = format!(
                "prompt has {tokens} tokens, expected at most max_prompt_tokens = {most} (the longest of {over} such prompts; \
                 over_long_prompts = \"drop\" leaves them out, \"truncate-left\" shortens them)"
            );
            return Err(fault(&id, &problem));
        }
        if prompts.is_empty() && over > 0 {
            return Err(PromptError::Settings(format!(
                "all {over} prompts are longer than max_prompt_tokens = {most}, expected one that fits"
            )));
        }
        let (dropped, truncated) =
            if over_long == OverLongPrompt::Drop { (over, 0) } else { (0, over) };
        Ok(Prompts { prompts, dropped, truncated })
    }
}
