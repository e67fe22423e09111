//! Lengths that a plan is for.

use serde::Serialize;

/// Length of every prompt and every response, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lengths {
    /// Of a prompt.
    pub prompt_tokens: usize,
    /// Of a response.
    pub response_tokens: usize,
}

impl Lengths {
    /// Of both.
    pub fn sequence_tokens(self) -> usize {
        self.prompt_tokens + self.response_tokens
    }
}
