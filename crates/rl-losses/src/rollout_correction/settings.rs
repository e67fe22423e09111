//! How a rollout correction is configured.

use serde::{Deserialize, Serialize};

use crate::parameter::{
    ParameterError, Settings, check, check_not_negative, check_positive, checked_when_read,
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

/// Treatment of a weight that is too far from 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum WeightBound {
    /// Clamped to `high`: truncated importance sampling (TIS).
    Truncate {
        /// Largest weight, above 0.
        high: f64,
    },
    /// 0 outside `low..=high`, untouched inside: masked importance sampling, `IcePop`.
    Mask {
        /// Smallest weight that counts, 0 or above.
        low: f64,
        /// Largest weight that counts, above `low`.
        high: f64,
    },
    /// 0 outside `low..=high` and 1 inside: rejection without reweighting.
    Reject {
        /// Smallest ratio that is kept, 0 or above.
        low: f64,
        /// Largest ratio that is kept, above `low`.
        high: f64,
    },
    /// Untouched.
    Off,
}

impl WeightBound {
    /// The bounded weight, and on which side it was outside: -1, 0 or 1.
    pub(crate) fn apply(self, weight: f64) -> (f64, i8) {
        let (low, high) = match self {
            Self::Truncate { high } => (0.0, high),
            Self::Mask { low, high } | Self::Reject { low, high } => (low, high),
            Self::Off => return (weight, 0),
        };
        let side = i8::from(weight > high) - i8::from(weight < low);
        let bounded = match self {
            Self::Truncate { .. } => weight.min(high),
            _ if side != 0 => 0.0,
            Self::Reject { .. } => 1.0,
            Self::Mask { .. } | Self::Off => weight,
        };
        (bounded, side)
    }
}

/// Corrects for the difference between the policy that sampled and the policy at the start of the
/// step: `ℓ_t = old_log_prob - rollout_log_prob`.
///
/// Default: verl's, sequence weights truncated at 2, not normalised, no veto.
///
/// Source: verl `rollout_correction` (TIS, `IcePop`, veto); Yao et al. 2025 for token truncation;
/// Ling Team 2025, [arXiv:2510.18855](https://arxiv.org/abs/2510.18855) for `IcePop`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!remote))]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct RolloutCorrection {
    /// Unit that a weight is taken over.
    pub level: CorrectionLevel,
    /// Treatment of a weight far from 1.
    pub bound: WeightBound,
    /// If true, the weights are divided by their mean: over tokens at the token level, else over
    /// sequences.
    pub normalise: bool,
    /// A response with one token whose ratio `e^ℓ` is below this weighs 0; `0..1`, 0 is off.
    pub veto: f64,
}

impl Default for RolloutCorrection {
    fn default() -> Self {
        Self {
            level: CorrectionLevel::Sequence,
            bound: WeightBound::Truncate { high: 2.0 },
            normalise: false,
            veto: 0.0,
        }
    }
}

impl Settings for RolloutCorrection {
    fn check(&self) -> Result<(), ParameterError> {
        check("veto", self.veto, "0 or above and below 1", |x| (0.0..1.0).contains(&x))?;
        match self.bound {
            WeightBound::Off => Ok(()),
            WeightBound::Truncate { high } => check_positive("high", high).map(drop),
            WeightBound::Mask { low, high } | WeightBound::Reject { low, high } => {
                check_not_negative("low", low)?;
                check_positive("high", high)?;
                let (low_field, high_field) = ("low", "high");
                if low < high {
                    Ok(())
                } else {
                    Err(ParameterError::Order { low_field, low, high_field, high })
                }
            }
        }
    }
}

checked_when_read!(RolloutCorrection);
