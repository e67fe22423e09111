//! A question to the token ids the model is asked with.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::chat_template::{ChatTemplate, ChatTemplateError, Message};
use crate::dataset::Question;
use crate::text_tokenizer::{TextTokenizer, TokenizerError};

/// How a question becomes text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PromptFormat {
    /// System message; empty for none. Needs `chat = true`.
    pub system: String,
    /// Text of the question; `{problem}` stands for the problem.
    pub template: String,
    /// Whether the text is a user's turn in the model's chat template; otherwise it is the prompt as it stands.
    pub chat: bool,
}

impl Default for PromptFormat {
    fn default() -> Self {
        Self { system: String::new(), template: "{problem}".to_owned(), chat: true }
    }
}

/// What happens to a prompt longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OverLongPrompt {
    /// The run does not start.
    #[default]
    Error,
    /// The question is left out, and counted.
    Drop,
}

/// Why a question did not become a prompt.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PromptError {
    /// `chat = true`, and the model has no chat template.
    #[error(
        "prompt: chat is true, but the model directory has no chat template, expected chat_template.jinja or \
         chat_template in tokenizer_config.json"
    )]
    NoChatTemplate,
    /// The prompt is too long.
    #[error(
        "question `{id}`: prompt has {found} tokens, expected at most max_prompt_tokens = {most}"
    )]
    TooLong {
        /// Which question.
        id: String,
        /// Tokens of its prompt.
        found: usize,
        /// Tokens allowed.
        most: usize,
    },
    /// The prompt has no token at all.
    #[error("question `{id}`: the prompt has no tokens, expected at least one")]
    NoTokens {
        /// Which question.
        id: String,
    },
    /// Every question was dropped.
    #[error(
        "all {dropped} prompts are longer than max_prompt_tokens = {most}, expected one that fits"
    )]
    AllDropped {
        /// How many there were.
        dropped: usize,
        /// Tokens allowed.
        most: usize,
    },
    /// The template refused.
    #[error(transparent)]
    Template(#[from] ChatTemplateError),
    /// The tokenizer refused.
    #[error(transparent)]
    Tokenizer(#[from] TokenizerError),
}

/// A question and the tokens it is asked with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The question.
    pub question: Question,
    /// Token ids, `[prompt_tokens]`.
    pub tokens: Vec<u32>,
}

/// Prompts of a data set, and how many questions were too long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompts {
    /// Those that fit, in the order of the questions.
    pub prompts: Vec<Prompt>,
    /// How many were left out by [`OverLongPrompt::Drop`].
    pub dropped: usize,
}

impl PromptFormat {
    /// The prompt as text.
    ///
    /// # Errors
    ///
    /// [`PromptError::NoChatTemplate`] or what the template says.
    pub fn text(
        &self,
        problem: &str,
        chat_template: Option<&ChatTemplate>,
    ) -> Result<String, PromptError> {
        let content = self.template.replace("{problem}", problem);
        if !self.chat {
            return Ok(content);
        }
        let template = chat_template.ok_or(PromptError::NoChatTemplate)?;
        let mut messages = Vec::new();
        if !self.system.is_empty() {
            messages.push(Message::new("system", &self.system));
        }
        messages.push(Message::new("user", content));
        Ok(template.render(&messages, true)?)
    }

    /// The prompts of many questions.
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
        let mut prompts = Vec::with_capacity(questions.len());
        let mut dropped = 0;
        for question in questions {
            let tokens = tokenizer.encode(&self.text(&question.problem, chat_template)?)?;
            let found = tokens.len();
            if found == 0 {
                return Err(PromptError::NoTokens { id: question.id });
            }
            if found <= max_prompt_tokens {
                prompts.push(Prompt { question, tokens });
                continue;
            }
            match over_long {
                OverLongPrompt::Drop => dropped += 1,
                OverLongPrompt::Error => {
                    let (id, most) = (question.id, max_prompt_tokens);
                    return Err(PromptError::TooLong { id, found, most });
                }
            }
        }
        if prompts.is_empty() && dropped > 0 {
            return Err(PromptError::AllDropped { dropped, most: max_prompt_tokens });
        }
        Ok(Prompts { prompts, dropped })
    }
}
