//! CW-GRPO: tokens of extreme covariance weigh less, by a Gaussian of their covariance.

use crate::{
    ExactSum, PlanSummary, Real, Scored, Shared, Sources, Token, TokenBatch, TokenLoss,
    fast::exact_sum::sums_of,
    method::policy_method::PolicyMethod,
    parameter::settings,
    surrogate::{Surrogate, limited_log_ratio},
};

/// Magnitude beyond any log-probability or advantage, so that its moments are finite whatever the columns hold.
const LARGEST: f64 = 1e6;

/// Share of the mean square below which a variance is rounding.
const ROUNDING: f64 = 1e-12;

/// Exponent whose exponential is finite, as are sums of it.
const LARGEST_EXPONENT: f64 = 600.0;

settings! {
    /// The clipped surrogate, each token weighed by a Gaussian of its covariance `c`:
    ///
    /// ```text
    /// c = (ln π - mean ln π) (A - mean A),    w = exp(-c² / 2σ²),    weight = N w / Σ w
    /// ```
    ///
    /// `σ` is the standard deviation of `c`. Tokens of large covariance, of either sign, move the entropy most and weigh less; the mean
    /// weight is 1, so that the step is as large. Weights are not differentiated. Where all covariances are the same they are 1.
    ///
    /// Means, `σ` and the sum are those of the mini-batch (row 61 of `docs/paper-vs-code.md`).
    ///
    /// Default: the symmetric clip of GRPO; the weights have no settings.
    ///
    /// Source: Wang et al. 2026, CW-GRPO, [arXiv:2605.11538](https://arxiv.org/abs/2605.11538).
    pub struct CovarianceWeight {
        /// Largest fall of the ratio below 1.
        pub clip_ratio_low: f64 = 0.2, check_not_negative;
        /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
        pub clip_ratio_high: f64 = 0.2, check_not_negative;
    }
}

/// The Gaussian of a mini-batch, from the moments of the covariances' factors `x` and `y`: means of log-probability and advantage,
/// the rate `1 / 2σ²`, the level, and the factor that makes the mean weight 1, which is 1 until the sum of the weights is known.
///
/// The level is the mean square of the covariances times the rate: with it added, no token of less than the mean square weighs less
/// than 1. All weights are 1 if all covariances are the same up to rounding.
fn gaussian(summary: &PlanSummary) -> Shared {
    let count = summary.tokens as f64;
    let moments: Vec<f64> = summary.sums.iter().map(|sum| sum.total() / count).collect();
    let [x, y, x2, product, y2, x_product, y_product, square] = moments[..] else {
        return [0.0, 0.0, 0.0, 0.0, 1.0];
    };
    let mean = product - x * y;
    // E (x - E x)² (y - E y)², multiplied out.
    let mean_square = square - 2.0 * (y * x_product + x * y_product)
        + (y * y * x2 + 4.0 * x * y * product + x * x * y2)
        - 3.0 * x * x * y * y;
    let variance = mean_square - mean * mean;
    let rate = if variance > ROUNDING * square { 0.5 / variance } else { 0.0 };
    [x, y, rate, rate * mean_square, 1.0]
}

/// Weight of a token under a [`gaussian`].
#[inline(always)]
fn weight(gaussian: Shared, log_prob: f64, advantage: f64) -> f64 {
    let [mean_log_prob, mean_advantage, rate, level, scale] = gaussian;
    let held = |value: f64| value.held(-LARGEST, LARGEST);
    let covariance = (held(log_prob) - mean_log_prob) * (held(advantage) - mean_advantage);
    let exponent = level - rate * covariance * covariance;
    scale * Real::exp(exponent.lesser(LARGEST_EXPONENT))
}

impl TokenLoss for CovarianceWeight {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let surrogate = Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high);
        surrogate.score(token).times(token.constant)
    }

    #[inline(always)]
    fn constant(&self, sources: Sources) -> f64 {
        weight(sources.shared, sources.log_prob, sources.advantage)
    }

    limited_log_ratio!();
}

impl<R: Real> PolicyMethod<R> for CovarianceWeight {
    /// Moments of the covariances' factors.
    fn sums(&self, batch: &TokenBatch<'_, R>) -> Vec<ExactSum> {
        sums_of(batch.log_prob(), batch.advantage(), |x, y| {
            let (x, y) = (x.held(-LARGEST, LARGEST), y.held(-LARGEST, LARGEST));
            [x, y, x * x, x * y, y * y, x * x * y, x * y * y, x * x * y * y]
        })
    }

    /// Sum of the weights.
    fn later_sums(&self, batch: &TokenBatch<'_, R>, summary: &PlanSummary) -> Vec<ExactSum> {
        let gaussian = gaussian(summary);
        sums_of(batch.log_prob(), batch.advantage(), |log_prob, advantage| {
            [weight(gaussian, log_prob, advantage)]
        })
    }

    /// The [`gaussian`], with the scale that the sum of the weights asks for.
    fn shared(&self, summary: &PlanSummary, later: &[ExactSum]) -> Option<Shared> {
        let [mean_log_prob, mean_advantage, rate, level, _] = gaussian(summary);
        let total: f64 = later.iter().map(ExactSum::total).sum();
        let scale = summary.tokens as f64 / total.max(f64::MIN_POSITIVE);
        Some([mean_log_prob, mean_advantage, rate, level, scale])
    }
}
