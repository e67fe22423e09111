//! Distribution of covariance over the tokens of a batch.

use crate::summation::{mean, sum};
use serde::{Deserialize, Serialize};

/// Mean over the largest covariances of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct TopMean {
    /// Share of the tokens, within `0..=1`.
    pub fraction: f64,
    /// Number of tokens in that share: rounded up, at least one.
    pub tokens: usize,
    /// Their mean covariance, in nat·reward.
    pub mean: f64,
}

/// One quantile of the covariances of a batch.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Quantile {
    /// Share of the tokens below, within `0..=1`.
    pub level: f64,
    /// Covariance, in nat·reward; linear between neighbouring tokens.
    pub value: f64,
}

/// Distribution of the token covariances of one batch.
///
/// For an empty batch [`tokens`](Self::tokens), all means and all quantile values are 0.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CovarianceSummary {
    /// Number of tokens.
    pub tokens: usize,
    /// Mean over all of them: the covariance over the batch, in nat·reward.
    pub mean: f64,
    /// Means over the top [`FRACTIONS`](Self::FRACTIONS), in that order: the paper's Table 1.
    pub top_means: Vec<TopMean>,
    /// Values at the [`LEVELS`](Self::LEVELS), in that order.
    pub quantiles: Vec<Quantile>,
}

impl CovarianceSummary {
    /// The shares of arXiv:2505.22617, Table 1 (there in percent).
    pub const FRACTIONS: [f64; 6] = [0.0002, 0.002, 0.02, 0.2, 0.5, 1.0];

    /// The quantiles reported; the first and the last are the smallest and the largest value.
    pub const LEVELS: [f64; 9] = [0.0, 0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99, 1.0];

    /// Summarises `covariances`, one value per token, as made by
    /// [`token_covariances`](crate::token_covariances).
    pub fn of(covariances: &[f64]) -> Self {
        let mut ascending = covariances.to_vec();
        ascending.sort_unstable_by(f64::total_cmp);
        Self {
            tokens: covariances.len(),
            mean: mean(covariances),
            top_means: Self::FRACTIONS.map(|fraction| top_mean(&ascending, fraction)).to_vec(),
            quantiles: Self::LEVELS
                .map(|level| Quantile { level, value: quantile(&ascending, level) })
                .to_vec(),
        }
    }

    /// Mean of the top `fraction`, one of [`FRACTIONS`](Self::FRACTIONS).
    pub fn top_mean(&self, fraction: f64) -> Option<f64> {
        let same = |top: &&TopMean| (top.fraction - fraction).abs() < f64::EPSILON;
        self.top_means.iter().find(same).map(|top| top.mean)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a token count is within 0..=count"
)]
fn top_mean(ascending: &[f64], fraction: f64) -> TopMean {
    let count = ascending.len();
    // The slack keeps 0.002 · 1500 at 3 tokens whatever the product rounds to.
    let wanted = (fraction * count as f64 - 1e-9).ceil().max(1.0) as usize;
    let tokens = wanted.min(count);
    let total = sum(ascending[count - tokens..].iter().copied());
    TopMean { fraction, tokens, mean: if tokens == 0 { 0.0 } else { total / tokens as f64 } }
}

/// Quantile of ascending values: the value at position `level · (n - 1)`, interpolated between neighbours; 0 if there are
/// no values. `level` lies in `0..=1`.
///
/// Source: Hyndman and Fan 1996, definition 7, the default of `numpy.quantile`.
///
/// # Panics
///
/// If `level` is above 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a level within 0..=1 times the last index is an index"
)]
pub fn quantile(ascending: &[f64], level: f64) -> f64 {
    let Some(last) = ascending.len().checked_sub(1) else { return 0.0 };
    let position = level * last as f64;
    let below = position.floor() as usize;
    let (low, high) = (ascending[below], ascending[(below + 1).min(last)]);
    (position - below as f64).mul_add(high - low, low)
}
