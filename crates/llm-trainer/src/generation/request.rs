//! Prompts, and how their responses are drawn.

use std::sync::Arc;

use entropy_core::EntropyBand;
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;

/// What the noise of one prompt's samples is keyed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingKey {
    /// Seed of the run.
    pub seed: u64,
    /// Training step.
    pub step: u64,
    /// Index of the prompt within the whole rollout batch of the step, over all ranks.
    pub prompt: u64,
}

/// A prompt and its noise.
#[derive(Debug, Clone, Copy)]
pub struct PromptRequest<'a> {
    /// The prompt's tokens, at least one.
    pub token_ids: &'a [u32],
    /// Keys the noise of its samples.
    pub key: SamplingKey,
}

/// How responses are drawn.
#[derive(Debug, Clone)]
pub struct GenerationOptions {
    /// Responses to each prompt.
    pub samples: usize,
    /// Longest response, in tokens.
    pub max_new_tokens: usize,
    /// Logits are divided by it; 0 takes the likeliest token.
    pub temperature: f64,
    /// Only this many of the likeliest tokens are drawn; 0 is all.
    pub top_k: usize,
    /// Only the likeliest tokens whose probabilities first add up to this are drawn; 1 is all.
    pub top_p: f64,
    /// Only tokens at least this times as likely as the likeliest are drawn; 0 is all.
    pub min_p: f64,
    /// Tokens that end a response.
    pub stop_ids: Vec<u32>,
    /// Texts that end a response.
    pub stop_strings: Option<Arc<StopStrings>>,
    /// Sequences that decode together.
    pub rows: usize,
    /// On the CPU, in f32 and bf16: decode by products made for few rows in place of libtorch's.
    pub cpu_kernels: bool,
    /// On CUDA, in bf16: attend by one kernel, and use kernels of our own, each where a test finds it right for the model's sizes
    /// ([`test_fused_decoding`](super::test_fused_decoding), [`test_own_kernels`](super::test_own_kernels)).
    pub cuda_kernels: bool,
    /// Moves the temperature of each token so that the entropy of what it is drawn from stays within these bounds: from
    /// `temperature`, over the tokens that `top_k`, `top_p` and `min_p` keep at that temperature.
    pub band: Option<EntropyBand>,
    /// Measure the entropy of what each token is drawn from.
    pub measure_entropy: bool,
}

impl GenerationOptions {
    /// Whether some tokens of the vocabulary may never be drawn, so that a response remembers which.
    pub fn truncates(&self) -> bool {
        self.temperature > 0.0 && self.sampling().truncates()
    }

    /// The distribution that tokens are drawn from, before a band moves its temperature.
    pub fn sampling(&self) -> Sampling {
        let &Self { temperature, top_k, top_p, min_p, .. } = self;
        Sampling { temperature, top_k, top_p, min_p }
    }

    /// The distribution that tokens are drawn from, and log-probabilities are of: a formula over the logits `z`.
    pub fn distribution(&self) -> String {
        let over = if self.truncates() {
            "the tokens kept by top_k, top_p and min_p"
        } else {
            "all tokens"
        };
        let temperature = match self.band {
            _ if self.temperature <= 0.0 => return "softmax(z) over all tokens".to_owned(),
            Some(_) => "T of each token".to_owned(),
            None => self.temperature.to_string(),
        };
        format!("softmax(z / {temperature}) over {over}")
    }
}

impl Default for GenerationOptions {
    fn default() -> Self {
        let Sampling { temperature, top_k, top_p, min_p } = Sampling::DEFAULT;
        Self {
            samples: 1,
            max_new_tokens: 256,
            temperature,
            top_k,
            top_p,
            min_p,
            stop_ids: Vec::new(),
            stop_strings: None,
            rows: 64,
            cpu_kernels: true,
            cuda_kernels: true,
            band: None,
            measure_entropy: false,
        }
    }
}
