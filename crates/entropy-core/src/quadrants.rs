//! The four kinds of tokens: pushed up or down, likely or unlikely.

use crate::summation::Accumulator;
use serde::{Deserialize, Serialize};

/// Tokens of one kind.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Quadrant {
    /// Number of tokens.
    pub tokens: u64,
    /// Sum of their covariances, in nat·reward.
    pub covariance: f64,
}

/// Tokens by the sign of their advantage and whether they are likelier than average.
///
/// To first order in the natural geometry, tokens that are pushed up and likely, or down and
/// unlikely, lower the entropy; the other two raise it. Derivation:
/// `docs/theory.md#token-covariance`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Quadrants {
    /// Positive advantage, log-probability at or above its mean.
    pub up_likely: Quadrant,
    /// Positive advantage, log-probability below its mean.
    pub up_unlikely: Quadrant,
    /// Negative advantage, log-probability at or above its mean.
    pub down_likely: Quadrant,
    /// Negative advantage, log-probability below its mean.
    pub down_unlikely: Quadrant,
    /// Advantage 0: not pushed at all.
    pub still: Quadrant,
}

impl Quadrants {
    /// Sorts tokens; all columns are `[tokens]`.
    ///
    /// `centred_log_prob` is the log-probability less its mean, in nats, over the batch
    /// (`log π - mean log π`) or over the state (`log π + H`), and `covariance` what
    /// [`token_covariances`](crate::token_covariances) or
    /// [`state_token_covariances`](crate::state_token_covariances) makes of the same centring.
    ///
    /// # Panics
    ///
    /// If the columns differ in length.
    pub fn of(advantage: &[f64], centred_log_prob: &[f64], covariance: &[f64]) -> Self {
        let tokens = advantage.len();
        assert!(
            centred_log_prob.len() == tokens && covariance.len() == tokens,
            "{tokens} advantages, {} log-probabilities, {} covariances: expected one of each",
            centred_log_prob.len(),
            covariance.len()
        );
        let mut sums = [(0, Accumulator::default()); 5];
        for (token, advantage) in advantage.iter().enumerate() {
            let likely = centred_log_prob[token] >= 0.0;
            let kind = match (advantage.partial_cmp(&0.0), likely) {
                (Some(std::cmp::Ordering::Greater), true) => 0,
                (Some(std::cmp::Ordering::Greater), false) => 1,
                (Some(std::cmp::Ordering::Less), true) => 2,
                (Some(std::cmp::Ordering::Less), false) => 3,
                _ => 4,
            };
            sums[kind].0 += 1;
            sums[kind].1.add(covariance[token]);
        }
        let quadrants = sums.map(|(tokens, sum)| Quadrant { tokens, covariance: sum.total() });
        let [up_likely, up_unlikely, down_likely, down_unlikely, still] = quadrants;
        Self { up_likely, up_unlikely, down_likely, down_unlikely, still }
    }
}
