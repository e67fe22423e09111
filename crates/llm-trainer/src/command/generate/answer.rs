//! A response as `generate` writes it.

use serde::Serialize;

use decoder::generation::Generated;

/// One response.
#[derive(Debug, Serialize)]
pub(super) struct Answer<'a> {
    pub(super) prompt: usize,
    pub(super) sample: usize,
    pub(super) text: &'a str,
    pub(super) token_ids: &'a [u32],
    /// Log-probability of each token in nats, over the tokens that it was drawn from.
    pub(super) log_prob: &'a [f64],
    /// Distribution that the log-probabilities are of.
    pub(super) log_prob_of: &'a str,
    pub(super) finish: &'static str,
    #[serde(flatten)]
    pub(super) entropy: Option<EntropyColumns>,
}

/// Entropies and related values, one per token.
#[derive(Debug, Serialize)]
pub(super) struct EntropyColumns {
    /// Entropy of the distribution that the token was drawn from, in nats.
    pub(super) entropy: Vec<f64>,
    /// Entropy over the full vocabulary at temperature 1, in nats.
    pub(super) entropy_at_temperature_1: Vec<f64>,
    /// `-log_prob`, in nats.
    pub(super) surprise: Vec<f64>,
    /// Temperature that divided the logits.
    pub(super) temperature: Vec<f64>,
}

impl EntropyColumns {
    /// Returns the columns of a response whose entropies were measured, else `None`.
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
