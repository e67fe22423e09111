//! A response as `generate` writes it.

use serde::Serialize;

use crate::generation::Generated;

/// One response.
#[derive(Debug, Serialize)]
pub(super) struct Answer<'a> {
    pub(super) prompt: usize,
    pub(super) sample: usize,
    pub(super) text: &'a str,
    pub(super) token_ids: &'a [u32],
    /// Nats, over the tokens that each was drawn from.
    pub(super) log_prob: &'a [f64],
    /// Which distribution the log-probabilities are of.
    pub(super) log_prob_of: &'a str,
    pub(super) finish: &'static str,
    #[serde(flatten)]
    pub(super) entropy: Option<EntropyColumns>,
}

/// One value a token.
#[derive(Debug, Serialize)]
pub(super) struct EntropyColumns {
    /// Of the distribution the token was drawn from, in nats.
    pub(super) entropy: Vec<f64>,
    /// Of the whole vocabulary at temperature 1, in nats.
    pub(super) entropy_at_temperature_1: Vec<f64>,
    /// `-log_prob`, in nats.
    pub(super) surprise: Vec<f64>,
    /// Logits were divided by it.
    pub(super) temperature: Vec<f64>,
}

impl EntropyColumns {
    /// Of a response whose entropies were measured.
    pub(super) fn of(response: &Generated) -> Option<Self> {
        let Generated { entropy, log_prob, .. } = response;
        (!entropy.is_empty()).then(|| Self {
            entropy: entropy.iter().map(|token| token.drawn_from).collect(),
            entropy_at_temperature_1: entropy.iter().map(|token| token.at_temperature_1).collect(),
            surprise: log_prob.iter().map(|log_prob| -log_prob).collect(),
            temperature: entropy.iter().map(|token| token.temperature).collect(),
        })
    }
}
