//! Unit of a weight, and rejection beside it: what is too far from the policy that sampled weighs 0.

use serde::{Deserialize, Serialize};

use crate::{
    parameter::{ParameterError, Settings, check_band, check_positive},
    surrogate::limited,
};

/// Unit that an importance weight is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CorrectionLevel {
    /// Each token by itself: `e^ℓ_t`. Biased (the prefix is not corrected), of low variance.
    Token,
    /// The whole response: `e^(Σ ℓ)`. Unbiased, of high variance; verl's default.
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
        match self {
            Self::Off => true,
            Self::Ratio { level, low, high } => {
                let inside = |one: f64| (low..=high).contains(&limited(one).exp());
                keep(level.of_response(log_ratio).map(inside), log_ratio, weights, inside)
            }
            Self::Divergence { estimator, over, high } => {
                let terms = log_ratio.iter().map(|&one| estimator.divergence(one));
                let of_response = match over {
                    RejectionSpan::Token => None,
                    RejectionSpan::Sum => Some(terms.sum::<f64>()),
                    RejectionSpan::Mean => Some(terms.sum::<f64>() / log_ratio.len() as f64),
                    RejectionSpan::Max => Some(terms.fold(0.0, f64::max)),
                };
                let stays = of_response.map(|divergence| divergence <= high);
                keep(stays, log_ratio, weights, |one| estimator.divergence(one) <= high)
            }
        }
    }
}

/// Sets the weights to 0 of a response that does not stay; of single tokens if it is not judged as one.
fn keep(
    response_stays: Option<bool>,
    log_ratio: &[f64],
    weights: &mut [f64],
    token_stays: impl Fn(f64) -> bool,
) -> bool {
    for (weight, &log_ratio) in std::iter::zip(weights, log_ratio) {
        if !response_stays.unwrap_or_else(|| token_stays(log_ratio)) {
            *weight = 0.0;
        }
    }
    response_stays.unwrap_or(true)
}
