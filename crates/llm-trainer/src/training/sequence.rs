//! A prompt and its response as token ids.

use serde::{Deserialize, Serialize};

use decoder::sampling_mask::SamplingMask;

/// A prompt and its response. Only response tokens are trained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Token ids of the prompt; at least one.
    pub prompt: Vec<u32>,
    /// Token ids of the response, including its end-of-sequence token if it has one.
    pub response: Vec<u32>,
    /// Sampling mask: one list of allowed tokens for each response token; `None` if all were sampled from the whole vocabulary.
    #[serde(default, rename = "kept", skip_serializing_if = "Option::is_none")]
    pub mask: Option<SamplingMask>,
}

impl Sequence {
    /// A sequence whose response was sampled, or is scored, over the whole vocabulary.
    pub fn new(prompt: Vec<u32>, response: Vec<u32>) -> Self {
        Self { prompt, response, mask: None }
    }

    /// Number of tokens of prompt and response.
    pub(super) fn len(&self) -> usize {
        self.prompt.len() + self.response.len()
    }
}
