//! Sampling responses: prompts are prefilled once, their samples decode together from a KV cache, and as one ends the next begins in
//! its slot.
//!
//! The noise of a token is a pure function of (seed, step, prompt, sample, position), so the tokens drawn do not
//! depend on how many rows decode together. On the CPU log-probabilities do not either, to the bit, unless
//! [`GenerationOptions::cpu_kernels`] is off: libtorch sums a matrix product in an order that depends on its number of rows.

mod custom_kernels;
mod engine;
mod error;
mod host_sampler;
mod kv_cache;
mod request;
mod response;
mod sampler;
mod shared;
mod slot_attention;
mod slots;
mod vocabulary_parallel_sampler;

use crate::model::Decoder;
use error::check;

pub use custom_kernels::{kernels_left_out, test_custom_kernels};
pub use error::GenerationError;
pub use request::{GenerationOptions, PromptRequest, SamplingKey};
pub use response::{Finish, Generated, Listener, Tally, TokenEntropy};
pub use shared::{Ask, Drawing, SharedBatch};
pub use slot_attention::test_fused_decoding;

impl Listener for Vec<Option<Generated>> {
    fn finished(&mut self, index: usize, response: Generated) {
        self[index] = Some(response);
    }
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
    let mut collected: Vec<Option<Generated>> = vec![None; prompts.len() * options.samples];
    generate_each(decoder, prompts, options, &mut collected)?;
    Ok(collected.into_iter().map(|response| response.expect("every response ends")).collect())
}

/// Generates as [`generate`] does, and passes on each response as soon as it ends, while the listener [wants more](Listener::goes_on).
///
/// # Errors
///
/// [`GenerationError`] if an option or a prompt is out of range, or if logits define no distribution.
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
