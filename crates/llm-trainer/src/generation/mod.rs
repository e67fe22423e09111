//! Sampling responses: prompts are prefilled once, their samples decode together from a cache of keys and values, and as
//! one ends the next begins in its place.
//!
//! The noise of a token is a pure function of (seed, step, prompt, sample, position), so the tokens drawn do not
//! depend on how many rows decode together. On the CPU log-probabilities do not either, to the bit, unless
//! [`GenerationOptions::cpu_kernels`] is off: libtorch sums a matrix product in an order that depends on its number of rows.

mod engine;
mod host_sampler;
mod kv_cache;
mod measured;
mod own_kernels;
mod part_sampler;
mod sampler;
mod shared;
mod slot_attention;
mod slots;

use std::sync::Arc;

use entropy_core::{EntropyBand, LogitsError};
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TokenizerError;
use thiserror::Error;

use crate::kept_tokens::KeptTokens;
use crate::model::Decoder;
use crate::ranks::RankError;

pub(crate) use own_kernels::kernels_left_out;
pub use own_kernels::test_own_kernels;
pub use shared::{Ask, Drawing, SharedBatch};
pub use slot_attention::test_fused_decoding;

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
    /// ([`test_fused_decoding`], [`test_own_kernels`]).
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
        let drawn = self.temperature > 0.0;
        drawn && (self.top_k > 0 || self.top_p < 1.0 || self.min_p > 0.0)
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
        Self {
            samples: 1,
            max_new_tokens: 256,
            temperature: 1.0,
            top_k: 0,
            top_p: 1.0,
            min_p: 0.0,
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

/// Why a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It ended with a stop token.
    Stop,
    /// Its last token completed a stop string.
    StopString,
    /// It reached the longest length allowed.
    Length,
}

impl Finish {
    /// As it stands in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::StopString => "stop_string",
            Self::Length => "length",
        }
    }
}

/// Entropies at one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenEntropy {
    /// Of the distribution that the token was drawn from, in nats; of greedy choices that at temperature 1 and over all.
    pub drawn_from: f64,
    /// Of the whole vocabulary at temperature 1, in nats.
    pub at_temperature_1: f64,
    /// Logits were divided by it; 0 for greedy choices.
    pub temperature: f64,
}

/// One response.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The response's tokens, the stop token and those of a stop string included.
    pub token_ids: Vec<u32>,
    /// Log-probability of each token in nats, at the temperature and over the tokens it was drawn from; at temperature 1 and
    /// over all for greedy choices. Within an entropy band the temperature is that of the token, not of the options.
    pub log_prob: Vec<f64>,
    /// Entropies at each token, where [`GenerationOptions::measure_entropy`] asks for them; else none.
    pub entropy: Vec<TokenEntropy>,
    /// What each token was drawn from, where tokens may have been left out.
    pub kept: Option<KeptTokens>,
    /// Why it ended.
    pub finish: Finish,
}

/// How far a generation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Responses in all.
    pub total: usize,
    /// Responses that ended.
    pub finished: usize,
    /// Of these, how many were cut at the longest length.
    pub truncated: usize,
    /// Tokens drawn.
    pub tokens: usize,
}

/// Who is told what a generation has come to, on the thread that generates.
pub trait Listener {
    /// Response `index`, of `samples` to each prompt, has ended; they end in any order.
    fn finished(&mut self, index: usize, response: Generated);

    /// Every row has drawn a token.
    fn progress(&mut self, _tally: &Tally) {}

    /// Whether to go on; else what has not ended is given up. Where ranks share the model all say the same.
    fn goes_on(&self) -> bool {
        true
    }
}

/// Keeps every response in its place.
#[derive(Debug)]
struct Collected(Vec<Option<Generated>>);

impl Listener for Collected {
    fn finished(&mut self, index: usize, response: Generated) {
        self.0[index] = Some(response);
    }
}

/// Why nothing can be generated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GenerationError {
    /// An option is out of range.
    #[error("{option} is {found}, expected {expected}")]
    Option {
        /// Its name.
        option: &'static str,
        /// Its value.
        found: String,
        /// What would have been accepted.
        expected: &'static str,
    },
    /// A prompt has no token.
    #[error("prompt {prompt} is empty, expected at least one token")]
    EmptyPrompt {
        /// Index of the prompt.
        prompt: usize,
    },
    /// A prompt holds a token that the model has not.
    #[error(
        "prompt {prompt} holds token id {token_id}, expected ids below vocab_size = {vocab_size}"
    )]
    TokenId {
        /// Index of the prompt.
        prompt: usize,
        /// The token.
        token_id: u32,
        /// The model's vocabulary.
        vocab_size: usize,
    },
    /// Prompt and response do not fit the model's positions.
    #[error(
        "prompt {prompt} has {tokens} tokens and may grow by {max_new_tokens}, expected at most \
         max_position_embeddings = {limit} in all"
    )]
    TooLong {
        /// Index of the prompt.
        prompt: usize,
        /// Its length in tokens.
        tokens: usize,
        /// Longest response asked for.
        max_new_tokens: usize,
        /// The model's positions.
        limit: usize,
    },
    /// Drawn tokens have no text that a stop string could be looked for in.
    #[error(transparent)]
    Text(#[from] TokenizerError),
    /// A rank that holds a part of the model is lost.
    #[error(transparent)]
    Ranks(#[from] RankError),
    /// The model's logits define no distribution: one is NaN or `+∞`, or all are `-∞`.
    #[error("the model's next-token logits: {0}")]
    Logits(#[from] LogitsError),
    /// Another response of the same batch could not be gone on with.
    #[error("the batch was given up: {0}")]
    GivenUp(String),
}

/// Draws `options.samples` responses to each prompt: all of the first prompt's, then the second's, and so on.
///
/// # Errors
///
/// [`GenerationError`] if an option or a prompt is out of range, or if logits define no distribution.
///
/// # Panics
///
/// If the device has too little memory.
pub fn generate(
    decoder: &Decoder,
    prompts: &[PromptRequest<'_>],
    options: &GenerationOptions,
) -> Result<Vec<Generated>, GenerationError> {
    let mut collected = Collected(vec![None; prompts.len() * options.samples]);
    generate_each(decoder, prompts, options, &mut collected)?;
    Ok(collected.0.into_iter().map(|response| response.expect("every response ends")).collect())
}

/// As [`generate`], with each response handed over as soon as it ends, for as long as the listener [wants more](Listener::goes_on).
///
/// # Errors
///
/// [`GenerationError`] if an option or a prompt is out of range, or if logits define no distribution.
///
/// # Panics
///
/// If the device has too little memory.
pub fn generate_each(
    decoder: &Decoder,
    prompts: &[PromptRequest<'_>],
    options: &GenerationOptions,
    listener: &mut dyn Listener,
) -> Result<(), GenerationError> {
    check(decoder, prompts, options)?;
    let _no_grad = tch::no_grad_guard();
    slots::run(decoder, prompts, options, listener)
}

fn check(
    decoder: &Decoder,
    prompts: &[PromptRequest<'_>],
    options: &GenerationOptions,
) -> Result<(), GenerationError> {
    let fault =
        |option, found: String, expected| Err(GenerationError::Option { option, found, expected });
    let counts = [
        ("samples", options.samples),
        ("max_new_tokens", options.max_new_tokens),
        ("rows", options.rows),
    ];
    for (option, found) in counts {
        if found == 0 {
            return fault(option, found.to_string(), "at least 1");
        }
    }
    if !(options.temperature.is_finite() && options.temperature >= 0.0) {
        return fault("temperature", options.temperature.to_string(), "a number of at least 0");
    }
    if options.band.is_some() && options.temperature <= 0.0 {
        let expected = "above 0 with an entropy band";
        return fault("temperature", options.temperature.to_string(), expected);
    }
    if !(options.top_p > 0.0 && options.top_p <= 1.0) {
        return fault("top_p", options.top_p.to_string(), "above 0 and at most 1");
    }
    if !(0.0..1.0).contains(&options.min_p) {
        return fault("min_p", options.min_p.to_string(), "at least 0 and below 1");
    }
    let config = decoder.config();
    let vocab_size = config.vocab_size;
    for (prompt, request) in prompts.iter().enumerate() {
        let tokens = request.token_ids.len();
        if tokens == 0 {
            return Err(GenerationError::EmptyPrompt { prompt });
        }
        if let Some(&token_id) = request.token_ids.iter().find(|&&id| id as usize >= vocab_size) {
            return Err(GenerationError::TokenId { prompt, token_id, vocab_size });
        }
        let (limit, max_new_tokens) = (config.max_position_embeddings, options.max_new_tokens);
        if tokens.saturating_add(max_new_tokens) > limit {
            return Err(GenerationError::TooLong { prompt, tokens, max_new_tokens, limit });
        }
    }
    Ok(())
}
