//! Unit of a weight, and rejection beside it: what is too far from the policy that sampled weighs 0.

use serde::{Deserialize, Serialize};

use crate::{
    parameter::{ParameterError, Settings, check_band, check_positive},
    surrogate::limited,
};

/// Unit that an importance weight is taken over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CorrectionLevel {
    /// Each token by itself: `e^ℓ_t`. Biased (the prefix is not corrected), of low variance.
    Token,
    /// The whole response: `e^(Σ ℓ)`. Unbiased, of high variance; verl's default.
    #[default]
    Sequence,
    /// The geometric mean over the response: `e^(mean ℓ)`. Does not grow with length; biased.
    Geometric,
}

impl CorrectionLevel {
    /// Log-ratio of a response, which is not empty, from those of its tokens; `None` where each token counts by itself.
    pub(super) fn of_response(self, log_ratio: &[f64]) -> Option<f64> {
        let total = || log_ratio.iter().sum::<f64>();
        match self {
            Self::Token => None,
            Self::Sequence => Some(total()),
            Self::Geometric => Some(total() / log_ratio.len() as f64),
        }
    }
}

/// Rule by which tokens or responses are left out, whatever their weight: `ℓ = old_log_prob - rollout_log_prob`.
///
/// With `level = "token"` and `bound.truncate` for the weight and `ratio = { level = "geometric", … }` here, tokens are weighed
/// and whole responses rejected (`seq-mask-tis`).
///
/// Source: verl `rollout_rs` (there `k1` bounds the inverse ratio); row 51 of `docs/paper-vs-code.md`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Rejection {
    /// Nothing is left out.
    #[default]
    Off,
    /// The ratio of a unit lies outside `low..=high`.
    Ratio {
        /// Unit that is kept or left out: `"token"`, `"sequence"` or `"geometric"`.
        level: CorrectionLevel,
        /// Smallest ratio that is kept, 0 or above.
        low: f64,
        /// Largest ratio that is kept, above `low`.
        high: f64,
    },
    /// A divergence of a unit is above `high`.
    Divergence {
        /// Divergence of a token.
        estimator: RejectionEstimator,
        /// Tokens that it is taken over.
        over: RejectionSpan,
        /// Largest divergence that is kept, above 0, in nats.
        high: f64,
    },
}

/// Divergence of a token, 0 where both policies agree; `ℓ` is held to ±20 nats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RejectionEstimator {
    /// `ℓ² / 2`.
    K2,
    /// `e^ℓ - 1 - ℓ`.
    K3,
}

/// Tokens over which a divergence is taken; all but `token` keep or leave out whole responses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum RejectionSpan {
    /// Each token by itself.
    Token,
    /// The sum over a response.
    Sum,
    /// The mean over a response.
    Mean,
    /// The largest of a response.
    Max,
}

impl RejectionEstimator {
    fn divergence(self, log_ratio: f64) -> f64 {
        let held = limited(log_ratio);
        match self {
            Self::K2 => 0.5 * held * held,
            Self::K3 => held.exp_m1() - held,
        }
    }
}

impl Settings for Rejection {
    fn check(&self) -> Result<(), ParameterError> {
        match *self {
            Self::Off => Ok(()),
            Self::Ratio { low, high, .. } => check_band(low, high),
            Self::Divergence { high, .. } => check_positive("high", high).map(drop),
        }
    }
}

impl Rejection {
    /// Sets the weights of the tokens to 0 that are left out of a response, which is not empty; both columns `[tokens]`. Returns
    /// false if the response is left out as one.
    pub(super) fn apply(self, log_ratio: &[f64], weights: &mut [f64]) -> bool {
        let tokens = log_ratio.len() as f64;
        let inside =
            |low: f64, high: f64, log_ratio: f64| (low..=high).contains(&limited(log_ratio).exp());
        let response_stays = match self {
            Self::Off => true,
            Self::Ratio { level, low, high } => match level.of_response(log_ratio) {
                Some(of_response) => inside(low, high, of_response),
                None => return keep(log_ratio, weights, |one| inside(low, high, one)),
            },
            Self::Divergence { estimator, over, high } => {
                let terms = log_ratio.iter().map(|&log_ratio| estimator.divergence(log_ratio));
                match over {
                    RejectionSpan::Token => {
                        return keep(log_ratio, weights, |one| estimator.divergence(one) <= high);
                    }
                    RejectionSpan::Sum => terms.sum::<f64>() <= high,
                    RejectionSpan::Mean => terms.sum::<f64>() / tokens <= high,
                    RejectionSpan::Max => terms.fold(0.0, f64::max) <= high,
                }
            }
        };
        if !response_stays {
            weights.fill(0.0);
        }
        response_stays
    }
}

/// Sets the weights to 0 of the tokens that do not stay; the response is not left out as one.
fn keep(log_ratio: &[f64], weights: &mut [f64], stays: impl Fn(f64) -> bool) -> bool {
    for (weight, &log_ratio) in std::iter::zip(weights, log_ratio) {
        if !stays(log_ratio) {
            *weight = 0.0;
        }
    }
    true
}
