//! A prompt and its response as token ids.

use serde::{Deserialize, Serialize};

use crate::kept_tokens::KeptTokens;

/// A prompt and what followed it. Only response tokens are trained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Token ids of the prompt; at least one.
    pub prompt: Vec<u32>,
    /// Token ids of the response, its end-of-sequence token included where it has one.
    pub response: Vec<u32>,
    /// What each response token was drawn from, where that was not the whole vocabulary; one list a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptTokens>,
}

impl Sequence {
    /// A response drawn from, or scored over, the whole vocabulary.
    pub fn new(prompt: Vec<u32>, response: Vec<u32>) -> Self {
        Self { prompt, response, kept: None }
    }

    /// Tokens of prompt and response.
    pub(super) fn len(&self) -> usize {
        self.prompt.len() + self.response.len()
    }
}
