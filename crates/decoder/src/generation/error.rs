//! Errors of generation, and the check of its options and prompts.

use entropy_core::LogitsError;
use model_files::sampling::RangeCheck;
use model_files::text_tokenizer::TokenizerError;
use thiserror::Error;

use super::request::{GenerationOptions, PromptRequest};
use crate::model::Decoder;
use ranks::RankError;

/// Reason that nothing can be generated.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GenerationError {
    /// An option is out of range.
    #[error("{option} is {found}, expected {expected}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Value of the option.
        found: String,
        /// Accepted values.
        expected: &'static str,
    },
    /// A prompt has no token, or one outside the model's vocabulary.
    #[error("{0}")]
    Prompt(String),
    /// Prompt and response do not fit the model's positions.
    #[error("{0}")]
    TooLong(String),
    /// Drawn tokens do not decode to text, which a stop string requires.
    #[error(transparent)]
    Text(#[from] TokenizerError),
    /// A rank that holds a part of the model failed.
    #[error("{0}")]
    Ranks(#[from] RankError),
    /// The model's logits define no distribution: one is NaN or `+∞`, or all are `-∞`.
    #[error("the model's next-token logits: {0}")]
    Logits(#[from] LogitsError),
    /// Another response of the same batch failed.
    #[error("the batch was given up: {0}")]
    GivenUp(String),
}

/// Refuses options and prompts that are out of range for the model.
pub(super) fn check(
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
    for (option, count) in counts {
        if count == 0 {
            return fault(option, count.to_string(), "at least 1");
        }
    }
    let [temperature, top_p, min_p] = options.sampling.checks();
    let banded = RangeCheck {
        holds: options.band.is_none() || options.sampling.temperature > 0.0,
        expected: "above 0 with an entropy band",
        ..temperature
    };
    for RangeCheck { field, value, holds, expected } in [temperature, banded, top_p, min_p] {
        if !holds {
            return fault(field, value.to_string(), expected);
        }
    }
    let config = decoder.config();
    let vocab_size = config.vocab_size;
    for (prompt, request) in prompts.iter().enumerate() {
        let tokens = request.token_ids.len();
        if tokens == 0 {
            let problem = format!("prompt {prompt} is empty, expected at least one token");
            return Err(GenerationError::Prompt(problem));
        }
        if let Some(token_id) = request.token_ids.iter().find(|&&id| id as usize >= vocab_size) {
            return Err(GenerationError::Prompt(format!(
                "prompt {prompt} holds token id {token_id}, expected ids below vocab_size = {vocab_size}"
            )));
        }
        check_length(prompt, tokens, options.max_new_tokens, config.max_position_embeddings)?;
    }
    Ok(())
}

/// Refuses a prompt that may grow beyond `limit` tokens.
pub(super) fn check_length(
    prompt: usize,
    tokens: usize,
    max_new_tokens: usize,
    limit: usize,
) -> Result<(), GenerationError> {
    if tokens.saturating_add(max_new_tokens) <= limit {
        return Ok(());
    }
    Err(GenerationError::TooLong(format!(
        "prompt {prompt} has {tokens} tokens and may grow by {max_new_tokens}, expected at most \
         max_position_embeddings = {limit} in all"
    )))
}
