//! Prompts, and the sampling options of their responses.

use std::sync::Arc;

use entropy_core::EntropyBand;
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;

/// Key of the noise of one prompt's samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SamplingKey {
    /// Seed of the run.
    pub seed: u64,
    /// Training step.
    pub step: u64,
    /// Index of the prompt within the full rollout batch of the step, over all ranks.
    pub prompt: u64,
}

/// A prompt and its noise.
#[derive(Debug, Clone, Copy)]
pub struct PromptRequest<'a> {
    /// The prompt's tokens, at least one.
    pub token_ids: &'a [u32],
    /// Key of the noise of its samples.
    pub key: SamplingKey,
}

/// Options of generation.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each switches a thing of its own")]
pub struct GenerationOptions {
    /// Responses to each prompt.
    pub samples: usize,
    /// Longest response, in tokens.
    pub max_new_tokens: usize,
    /// Sampling distribution, before a band moves its temperature.
    pub sampling: Sampling,
    /// Tokens that end a response.
    pub stop_ids: Vec<u32>,
    /// Texts that end a response.
    pub stop_strings: Option<Arc<StopStrings>>,
    /// Sequences that decode together.
    pub rows: usize,
    /// Decodes on the CPU, in f32 and bf16, by products made for few rows in place of libtorch's.
    pub cpu_kernels: bool,
    /// Uses on CUDA, in bf16, one attention kernel and the project's own kernels, each if it passes its test for the model's sizes
    /// ([`test_fused_decoding`](super::test_fused_decoding), [`test_custom_kernels`](super::test_custom_kernels)).
    pub cuda_kernels: bool,
    /// Bounds on the entropy of each token's distribution. The temperature of each token is moved from that of `sampling` to stay
    /// within them, over the tokens that `sampling` keeps at its own temperature.
    pub band: Option<EntropyBand>,
    /// Measures the entropy of the distribution of each token.
    pub measure_entropy: bool,
    /// Records the experts of each token, where the model has some.
    pub record_routes: bool,
}

impl GenerationOptions {
    /// Returns true if some tokens of the vocabulary may be excluded; responses then record a sampling mask.
    pub fn truncates(&self) -> bool {
        self.sampling.temperature > 0.0 && self.sampling.truncates()
    }

    /// Default options, at a temperature.
    pub fn at_temperature(temperature: f64) -> Self {
        let sampling = Sampling { temperature, ..Sampling::DEFAULT };
        Self { sampling, ..Self::default() }
    }

    /// Describes the distribution that tokens are drawn from, and log-probabilities refer to: a formula over the logits `z`.
    pub fn distribution(&self) -> String {
        let over = if self.truncates() {
            "the tokens kept by top_k, top_p and min_p"
        } else {
            "all tokens"
        };
        let temperature = match self.band {
            _ if self.sampling.temperature <= 0.0 => {
                return "softmax(z) over all tokens".to_owned();
            }
            Some(_) => "T of each token".to_owned(),
            None => self.sampling.temperature.to_string(),
        };
        format!("softmax(z / {temperature}) over {over}")
    }
}

impl Default for GenerationOptions {
    fn default() -> Self {
        Self {
            samples: 1,
            max_new_tokens: 256,
            sampling: Sampling::DEFAULT,
            stop_ids: Vec::new(),
            stop_strings: None,
            rows: 64,
            cpu_kernels: true,
            cuda_kernels: true,
            band: None,
            measure_entropy: false,
            record_routes: false,
        }
    }
}
