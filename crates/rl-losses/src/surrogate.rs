//! The scalar core: one token's loss and its derivative.

use crate::{ParameterError, parameter::check_not_negative};

/// One token's loss and `∂ℓ/∂log π_θ(y_t)`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Term {
    /// Loss, to be minimised.
    pub value: f64,
    /// Derivative with respect to the current log-probability.
    pub d_log_prob: f64,
}

impl Term {
    /// No loss and no gradient.
    pub(crate) const ZERO: Self = Self { value: 0.0, d_log_prob: 0.0 };

    /// A value that does not depend on the log-probability.
    pub(crate) fn flat(value: f64) -> Self {
        Self { value, d_log_prob: 0.0 }
    }

    /// The surrogate of the policy gradient theorem, `-r A`; it is its own derivative.
    pub(crate) fn unclipped(ratio: f64, advantage: f64) -> Self {
        let value = -ratio * advantage;
        Self { value, d_log_prob: value }
    }
}

/// Which piece of a loss a token lies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Branch {
    /// The one with a slope, or dropped by the method.
    Open,
    /// The flat part of the clipped surrogate.
    Clipped,
    /// The dual clip's ceiling.
    Ceiling,
}

/// Trust region of the importance ratio, `[1 - low, 1 + high]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ClipRange {
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl ClipRange {
    /// A region that reaches `low` below 1 and `high` above; `high > low` is clip-higher (DAPO).
    ///
    /// # Errors
    ///
    /// [`ParameterError::OutOfRange`] unless both are finite and not negative.
    pub fn new(low: f64, high: f64) -> Result<Self, ParameterError> {
        Ok(Self {
            low: check_not_negative("clip_ratio_low", low)?,
            high: check_not_negative("clip_ratio_high", high)?,
        })
    }

    /// How far the ratio may fall below 1.
    pub fn low(self) -> f64 {
        self.low
    }

    /// How far the ratio may rise above 1.
    pub fn high(self) -> f64 {
        self.high
    }

    /// Whether the surrogate is flat here: the ratio has left the region on the side the advantage
    /// pushes it to.
    pub fn is_clipped(self, log_ratio: f64, advantage: f64) -> bool {
        self.is_clipped_at(log_ratio.exp(), advantage)
    }

    /// Clipped surrogate `-min(r A, clip(r, 1 - low, 1 + high) A)`, with `r = exp(log_ratio)`.
    ///
    /// Inside the region both branches are the same number, so the derivative is `-r A`; where the
    /// ratio has left it on the pushed side, the loss is flat.
    ///
    /// Source: Schulman et al. 2017, [Eq. 7](https://arxiv.org/abs/1707.06347).
    pub fn surrogate(self, log_ratio: f64, advantage: f64) -> Term {
        self.surrogate_at(log_ratio.exp(), advantage).0
    }

    /// [`surrogate`](Self::surrogate) of a ratio, and which of its branches holds.
    pub(crate) fn surrogate_at(self, ratio: f64, advantage: f64) -> (Term, Branch) {
        if self.is_clipped_at(ratio, advantage) {
            let bound = ratio.clamp(1.0 - self.low, 1.0 + self.high);
            (Term::flat(-bound * advantage), Branch::Clipped)
        } else {
            (Term::unclipped(ratio, advantage), Branch::Open)
        }
    }

    fn is_clipped_at(self, ratio: f64, advantage: f64) -> bool {
        (advantage > 0.0 && ratio > 1.0 + self.high) || (advantage < 0.0 && ratio < 1.0 - self.low)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const CLIP: ClipRange = ClipRange { low: 0.2, high: 0.28 };

    #[test]
    fn a_negative_bound_is_refused_by_name() {
        let error = ClipRange::new(0.2, -0.1).unwrap_err();
        let expected = "`clip_ratio_high` is -0.1, expected a finite number, 0 or above";
        assert_eq!(error.to_string(), expected);
        assert!(ClipRange::new(f64::NAN, 0.2).is_err());
    }

    proptest! {
        /// The pessimistic bound of PPO: clipping never lowers the loss.
        #[test]
        fn clipping_never_lowers_the_loss(x in -1.0f64..1.0, advantage in -3.0f64..3.0) {
            let unclipped = -x.exp() * advantage;
            prop_assert!(CLIP.surrogate(x, advantage).value >= unclipped - 1e-12);
        }

        /// The branches of Eq. 7 written as they stand in the paper.
        #[test]
        fn surrogate_is_the_minimum_of_eq_7(x in -1.0f64..1.0, advantage in -3.0f64..3.0) {
            let ratio = x.exp();
            let clipped = ratio.clamp(0.8, 1.28);
            let expected = -(ratio * advantage).min(clipped * advantage);
            prop_assert!((CLIP.surrogate(x, advantage).value - expected).abs() < 1e-14);
        }
    }
}
