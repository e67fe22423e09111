//! CW-GRPO: tokens of extreme covariance weigh less, by a Gaussian of their covariance.

use crate::{
    batch::TokenBatch,
    fast::{
        exact_sum::{ExactSum, sums_of},
        real::Real,
    },
    method::policy_method::PolicyMethod,
    parameter::{check_not_negative, settings},
    plan_summary::PlanSummary,
    surrogate::{Surrogate, limited_log_ratio},
    term::{Scored, Shared, Sources, Token, TokenLoss, Visitor},
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

/// The Gaussian of a mini-batch.
#[derive(Clone, Copy)]
struct Gaussian {
    mean_log_prob: f64,
    mean_advantage: f64,
    /// `1 / 2σ²`.
    rate: f64,
    /// Mean square of the covariances, times the rate: with it added, no token of less than the mean square weighs less than 1.
    level: f64,
    /// Factor that makes the mean weight 1.
    scale: f64,
}

impl Gaussian {
    /// From the moments of the covariances' factors `x` and `y`; all weights are 1 if all covariances are the same up to rounding.
    fn of(summary: &PlanSummary) -> Self {
        let count = summary.tokens as f64;
        let moments: Vec<f64> = summary.sums.iter().map(|sum| sum.total() / count).collect();
        let [x, y, x2, product, y2, x_product, y_product, square] = moments[..] else {
            return Self::from([0.0, 0.0, 0.0, 0.0, 1.0]);
        };
        let mean = product - x * y;
        // E (x - E x)² (y - E y)², multiplied out.
        let mean_square = square - 2.0 * (y * x_product + x * y_product)
            + (y * y * x2 + 4.0 * x * y * product + x * x * y2)
            - 3.0 * x * x * y * y;
        let variance = mean_square - mean * mean;
        let rate = if variance > ROUNDING * square { 0.5 / variance } else { 0.0 };
        Self::from([x, y, rate, rate * mean_square, 1.0])
    }

    /// Weight of a token.
    #[inline(always)]
    fn weight(self, log_prob: f64, advantage: f64) -> f64 {
        let held = |value: f64| value.held(-LARGEST, LARGEST);
        let covariance =
            (held(log_prob) - self.mean_log_prob) * (held(advantage) - self.mean_advantage);
        let exponent = self.level - self.rate * covariance * covariance;
        self.scale * Real::exp(exponent.lesser(LARGEST_EXPONENT))
    }
}

impl From<Shared> for Gaussian {
    fn from([mean_log_prob, mean_advantage, rate, level, scale]: Shared) -> Self {
        Self { mean_log_prob, mean_advantage, rate, level, scale }
    }
}

impl TokenLoss for CovarianceWeight {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let surrogate = Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high);
        surrogate.score(token).times(token.constant)
    }

    #[inline(always)]
    fn constant(&self, sources: Sources) -> f64 {
        Gaussian::from(sources.shared).weight(sources.log_prob, sources.advantage)
    }

    limited_log_ratio!();
}

impl PolicyMethod for CovarianceWeight {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(self)
    }

    /// Moments of the covariances' factors.
    fn sums<R: Real>(&self, batch: &TokenBatch<'_, R>) -> Vec<ExactSum> {
        sums_of(batch.log_prob(), batch.advantage(), |x, y| {
            let (x, y) = (x.held(-LARGEST, LARGEST), y.held(-LARGEST, LARGEST));
            [x, y, x * x, x * y, y * y, x * x * y, x * y * y, x * x * y * y]
        })
    }

    /// Sum of the weights.
    fn later_sums<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        summary: &PlanSummary,
    ) -> Vec<ExactSum> {
        let gaussian = Gaussian::of(summary);
        sums_of(batch.log_prob(), batch.advantage(), |log_prob, advantage| {
            [gaussian.weight(log_prob, advantage)]
        })
    }

    /// Numbers of [`Gaussian`], with the scale that the sum of the weights asks for.
    fn shared(&self, summary: &PlanSummary, later: &[ExactSum]) -> Option<Shared> {
        let Gaussian { mean_log_prob, mean_advantage, rate, level, .. } = Gaussian::of(summary);
        let total: f64 = later.iter().map(ExactSum::total).sum();
        let scale = summary.tokens as f64 / total.max(f64::MIN_POSITIVE);
        Some([mean_log_prob, mean_advantage, rate, level, scale])
    }
}
