//! A question to the token ids the model is asked with.

use model_files::chat_template::{ChatTemplate, ChatTemplateError, Message};
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::dataset::Question;

/// How a question becomes text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PromptFormat {
    /// System message; empty for none. Needs `chat = true`.
    pub system: String,
    /// Text of the question; `{problem}` stands for the problem.
    pub template: String,
    /// Pass that text as a user's turn to the model's chat template; otherwise it is the prompt as
    /// it stands.
    pub chat: bool,
}

impl Default for PromptFormat {
    fn default() -> Self {
        Self { system: String::new(), template: "{problem}".to_owned(), chat: true }
    }
}

/// What happens to a prompt longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OverLongPrompt {
    /// The run does not start.
    #[default]
    Error,
    /// The question is left out, and counted.
    Drop,
    /// Its first tokens are cut off until it fits, and it is counted: the end of the question stays.
    TruncateLeft,
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
    /// Prompts are too long; the longest is named.
    #[error(
        "question `{id}`: prompt has {found} tokens, expected at most max_prompt_tokens = {most} (the longest of \
         {count} such prompts; over_long_prompts = \"drop\" leaves them out, \"truncate-left\" shortens them)"
    )]
    TooLong {
        /// Which question.
        id: String,
        /// Tokens of its prompt.
        found: usize,
        /// Tokens allowed.
        most: usize,
        /// How many prompts are too long.
        count: usize,
    },
    /// A question that is a conversation cannot be asked under this configuration.
    #[error("question `{id}`: {problem}")]
    Conversation {
        /// Which question.
        id: String,
        /// What is wrong and what was expected.
        problem: &'static str,
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
    /// Those to ask, in the order of the questions.
    pub prompts: Vec<Prompt>,
    /// How many were left out by [`OverLongPrompt::Drop`].
    pub dropped: usize,
    /// How many were shortened by [`OverLongPrompt::TruncateLeft`].
    pub truncated: usize,
}

impl Prompts {
    /// What a person should know before training on them: one sentence each, none where all is well.
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
    /// The prompt of a problem, as text.
    ///
    /// # Errors
    ///
    /// [`PromptError::NoChatTemplate`] or what the template says.
    pub fn text(
        &self,
        problem: &str,
        chat_template: Option<&ChatTemplate>,
    ) -> Result<String, PromptError> {
        self.render(&[], problem, chat_template)
    }

    /// The prompt of a question, as text: a row's own turns stand before the problem.
    ///
    /// # Errors
    ///
    /// As for [`PromptFormat::text`], and [`PromptError::Conversation`] where there are such turns without a chat
    /// template, or a second system message.
    pub fn question_text(
        &self,
        question: &Question,
        chat_template: Option<&ChatTemplate>,
    ) -> Result<String, PromptError> {
        let context = &question.context;
        let refused = |problem| PromptError::Conversation { id: question.id.clone(), problem };
        if !self.chat && !context.is_empty() {
            return Err(refused(
                "has turns before the last, expected one turn where prompt.chat is false",
            ));
        }
        if !self.system.is_empty() && context.iter().any(|turn| turn.role == "system") {
            return Err(refused(
                "has a system message of its own, expected none where prompt.system is set",
            ));
        }
        self.render(context, &question.problem, chat_template)
    }

    fn render(
        &self,
        context: &[Message],
        problem: &str,
        chat_template: Option<&ChatTemplate>,
    ) -> Result<String, PromptError> {
        let question = self.template.replace("{problem}", problem);
        if !self.chat {
            return Ok(question);
        }
        let template = chat_template.ok_or(PromptError::NoChatTemplate)?;
        let mut messages = Vec::new();
        if !self.system.is_empty() {
            messages.push(Message::new("system", &self.system));
        }
        messages.extend_from_slice(context);
        messages.push(Message::new("user", question));
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
        let most = max_prompt_tokens;
        let mut prompts = Vec::with_capacity(questions.len());
        let mut over = 0;
        let mut longest: Option<(usize, String)> = None;
        for question in questions {
            let mut tokens = tokenizer.encode(&self.question_text(&question, chat_template)?)?;
            let found = tokens.len();
            if found == 0 {
                return Err(PromptError::NoTokens { id: question.id });
            }
            if found > most {
                over += 1;
                match over_long {
                    OverLongPrompt::TruncateLeft => drop(tokens.drain(..found - most)),
                    OverLongPrompt::Drop => continue,
                    OverLongPrompt::Error => {
                        if longest.as_ref().is_none_or(|(length, _)| found > *length) {
                            longest = Some((found, question.id));
                        }
                        continue;
                    }
                }
            }
            prompts.push(Prompt { question, tokens });
        }
        if let Some((found, id)) = longest {
            return Err(PromptError::TooLong { id, found, most, count: over });
        }
        if prompts.is_empty() && over > 0 {
            return Err(PromptError::AllDropped { dropped: over, most });
        }
        let (dropped, truncated) =
            if over_long == OverLongPrompt::Drop { (over, 0) } else { (0, over) };
        Ok(Prompts { prompts, dropped, truncated })
    }
}
