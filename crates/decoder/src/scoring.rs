//! Log-probabilities and entropies of given tokens under the policy.

use tch::Tensor;

use crate::head::token_statistics;
use crate::model::{Decoder, numbers};

/// Columns of scores: entry `t` is for token `t + 1`, given tokens `0..=t`; the first token has none.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scores {
    /// Log-probability in nats.
    pub log_prob: Vec<f64>,
    /// Entropy over the full vocabulary, in nats.
    pub entropy: Vec<f64>,
}

/// Log-probability and entropy of every token but the first, at a temperature above 0.
///
/// # Panics
///
/// If a token is beyond the vocabulary, or there are more than the model has positions.
pub fn score(decoder: &Decoder, token_ids: &[u32], temperature: f64) -> Scores {
    if token_ids.len() < 2 {
        return Scores::default();
    }
    let _no_grad = tch::no_grad_guard();
    let ids: Vec<i64> = token_ids.iter().map(|&id| i64::from(id)).collect();
    let ids = Tensor::from_slice(&ids).to_device(decoder.device());
    let predicted = ids.size()[0] - 1;
    let hidden = decoder.forward(&ids.narrow(0, 0, predicted).unsqueeze(0)).squeeze_dim(0);
    let targets = ids.narrow(0, 1, predicted);
    let statistics = token_statistics(&hidden, decoder.head(), &targets, temperature);
    Scores { log_prob: numbers(&statistics.log_prob), entropy: numbers(&statistics.entropy) }
}
