//! Lengths of prompts and responses that a plan assumes.

use serde::Serialize;

/// Length of every prompt and every response, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lengths {
    /// Length of a prompt.
    pub prompt_tokens: usize,
    /// Length of a response.
    pub response_tokens: usize,
}

impl Lengths {
    /// Length of prompt and response together.
    pub fn sequence_tokens(self) -> usize {
        self.prompt_tokens + self.response_tokens
    }
}
