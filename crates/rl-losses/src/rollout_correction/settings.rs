//! How a rollout correction is configured.

use serde::{Deserialize, Serialize};

use super::rejection::{CorrectionLevel, Rejection};
use crate::parameter::{check_band, settings};

/// Treatment of a weight that is too far from 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum WeightBound {
    /// Clamped to `low..=high`: truncated importance sampling (TIS).
    Truncate {
        /// Smallest weight, 0 or above.
        #[serde(default)]
        low: f64,
        /// Largest weight, above `low`.
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
    pub(super) fn apply(self, weight: f64) -> (f64, i8) {
        let Some((low, high)) = self.band() else { return (weight, 0) };
        let side = i8::from(weight > high) - i8::from(weight < low);
        let bounded = match self {
            Self::Truncate { .. } => weight.max(low).min(high),
            _ if side != 0 => 0.0,
            Self::Reject { .. } => 1.0,
            Self::Mask { .. } | Self::Off => weight,
        };
        (bounded, side)
    }

    fn band(self) -> Option<(f64, f64)> {
        match self {
            Self::Truncate { low, high }
            | Self::Mask { low, high }
            | Self::Reject { low, high } => Some((low, high)),
            Self::Off => None,
        }
    }
}

settings! {
    /// Corrects for the difference between the policy that sampled and the policy at the start of the
    /// step: `ℓ_t = old_log_prob - rollout_log_prob`.
    ///
    /// Default: token weights truncated at 2, not normalised, no veto, no rejection; verl's are those of sequences.
    ///
    /// Source: verl `rollout_correction` (TIS, `IcePop`, veto); Yao et al. 2025 for token truncation;
    /// Ling Team 2025, [arXiv:2510.18855](https://arxiv.org/abs/2510.18855) for `IcePop`.
    pub struct RolloutCorrection {
        /// Unit that a weight is taken over.
        pub level: CorrectionLevel = CorrectionLevel::Token;
        /// Treatment of a weight far from 1.
        pub bound: WeightBound = WeightBound::Truncate { low: 0.0, high: 2.0 };
        /// If true, the weights are divided by their mean: over tokens at the token level, else over
        /// sequences.
        pub normalise: bool = false;
        /// A response with one token whose ratio `e^ℓ` is below this weighs 0; `0..1`, 0 is off.
        pub veto: f64 = 0.0, check_below_one;
        /// Tokens and responses that weigh 0 whatever their weight; the mean that `normalise` divides by counts them.
        pub reject: Rejection = Rejection::Off, check_within;
    } also |settings| settings.bound.band().map_or(Ok(()), |(low, high)| check_band(low, high))
}
