//! Sampling responses: prompts are prefilled once, their samples decode together from a cache of keys and values.
//!
//! The noise of a token is a pure function of (seed, step, prompt, sample, position), so the tokens drawn do not
//! depend on how many rows decode together.

mod kv_cache;
mod sampler;
mod wave;

use thiserror::Error;

use crate::model::Decoder;

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
#[derive(Debug, Clone, PartialEq)]
pub struct GenerationOptions {
    /// Responses to each prompt.
    pub samples: usize,
    /// Longest response, in tokens.
    pub max_new_tokens: usize,
    /// Logits are divided by it; 0 takes the likeliest token.
    pub temperature: f64,
    /// Only the likeliest tokens whose probabilities first add up to this are drawn; 1 is all.
    pub top_p: f64,
    /// Only this many of the likeliest tokens are drawn; 0 is all.
    pub top_k: usize,
    /// Tokens that end a response.
    pub stop_ids: Vec<u32>,
    /// Sequences that decode together.
    pub rows: usize,
}

impl Default for GenerationOptions {
    fn default() -> Self {
        Self {
            samples: 1,
            max_new_tokens: 256,
            temperature: 1.0,
            top_p: 1.0,
            top_k: 0,
            stop_ids: Vec::new(),
            rows: 64,
        }
    }
}

/// Why a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It ended with a stop token.
    Stop,
    /// It reached the longest length allowed.
    Length,
}

/// One response.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The response's tokens, the stop token included.
    pub token_ids: Vec<u32>,
    /// Log-probability of each token in nats, at the sampling temperature and over the whole vocabulary, that is
    /// before `top_p` and `top_k`; at temperature 1 for greedy choices.
    pub log_prob: Vec<f64>,
    /// Why it ended.
    pub finish: Finish,
}

/// Why nothing can be generated.
#[derive(Debug, Clone, PartialEq, Error)]
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
}

/// Draws `options.samples` responses to each prompt: all of the first prompt's, then the second's, and so on.
///
/// # Errors
///
/// [`GenerationError`] if an option or a prompt is out of range.
///
/// # Panics
///
/// If the device has too little memory.
pub fn generate(
    decoder: &Decoder,
    prompts: &[PromptRequest<'_>],
    options: &GenerationOptions,
) -> Result<Vec<Generated>, GenerationError> {
    check(decoder, prompts, options)?;
    let _no_grad = tch::no_grad_guard();
    let queue: Vec<(usize, u64)> = (0..prompts.len())
        .flat_map(|prompt| (0..options.samples as u64).map(move |sample| (prompt, sample)))
        .collect();
    Ok(queue
        .chunks(options.rows)
        .flat_map(|wave| wave::run(decoder, prompts, wave, options))
        .collect())
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
    if !(options.top_p > 0.0 && options.top_p <= 1.0) {
        return fault("top_p", options.top_p.to_string(), "above 0 and at most 1");
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
