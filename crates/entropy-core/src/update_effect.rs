//! All figures of one update of one policy, from a caller's data.

use crate::categorical::Categorical;
use crate::exact::{self, Direction, Figure, figure};
use crate::input_error::{InputError, check_all_finite, check_update};
use crate::logit_step::UpdateRule;
use serde::{Deserialize, Serialize};

/// Effect of one exact update on the entropy of one policy, beside the predictions of the theorems.
///
/// Every figure has a relative error of at most 1e-13, even where its terms cancel, and an exact 0 is 0
/// (`docs/theory.md#cancellation`). Most rows need no more than `f64`. A row whose terms cancel to a hundredth takes some ten
/// times as long, one made to cancel beyond 1e-16 takes milliseconds.
///
/// Derivation: `docs/theory.md#theorem-1` and `docs/theory.md#theorem-2`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct UpdateEffect {
    /// Entropy before the step, in nats.
    pub entropy_before: f64,
    /// Entropy after the step, in nats.
    pub entropy_after: f64,
    /// Exact change, in nats, without cancellation.
    pub delta: f64,
    /// First-order term: Theorem 1 or 2, in nats.
    pub first_order: f64,
    /// Second-order term alone, in nats.
    pub second_order: f64,
    /// Third-order term alone, in nats; right to rounding of its terms, where all else is right to 1e-13 of itself.
    pub third_order: f64,
    /// `delta - first_order`, in nats, integrated rather than subtracted.
    pub remainder: f64,
    /// Rigorous bound on the absolute value of the remainder, in nats.
    pub remainder_bound: f64,
    /// The covariance of the theorem, in nat·reward: `first_order = -η · covariance`.
    pub covariance: f64,
    /// `KL(π_new ‖ π)`, in nats.
    pub kl_new_old: f64,
    /// `KL(π ‖ π_new)`, in nats.
    pub kl_old_new: f64,
}

impl UpdateEffect {
    /// The effect of a step of size `eta` for an `advantage` of shape `[actions]`, in reward.
    ///
    /// The policy gradient centres the advantage under the policy, as Theorem 1 needs.
    ///
    /// # Errors
    ///
    /// [`InputError`] that says which input is wrong, where, and what was expected.
    ///
    /// # Examples
    ///
    /// ```
    /// use entropy_core::{UpdateEffect, UpdateRule};
    ///
    /// let rule = UpdateRule::NaturalPolicyGradient;
    /// let effect = UpdateEffect::new(&[1.0, 0.0, -0.5], &[1.0, 0.0, 0.0], 0.01, rule)?;
    /// assert!(effect.delta < 0.0 && effect.covariance > 0.0);
    /// assert!(UpdateEffect::new(&[1.0, 0.0], &[1.0], 0.01, rule).is_err());
    /// # Ok::<(), entropy_core::InputError>(())
    /// ```
    pub fn new(
        logits: &[f64],
        advantage: &[f64],
        eta: f64,
        rule: UpdateRule,
    ) -> Result<Self, InputError> {
        let policy = Categorical::from_logits(logits)?;
        check_update(&policy, advantage, eta)?;
        // A constant moves nothing, and costs digits.
        let step = rule.step(&policy, &policy.centred(advantage), eta);
        check_all_finite("step", &step)?;
        let direction = Direction { column: advantage, rule, eta };
        let covariance = -rule.predicted_entropy_change(&policy, advantage, 1.0);
        let divergence = policy.step_divergence(&step);
        Ok(Self {
            entropy_before: policy.entropy(),
            entropy_after: exact::entropy_after(&policy, direction),
            delta: figure(&policy, direction, Figure::Change),
            first_order: -eta * covariance,
            second_order: 0.5 * figure(&policy, direction, Figure::Curvature),
            third_order: policy.entropy_third_derivative(&step) / 6.0,
            remainder: figure(&policy, direction, Figure::Remainder),
            remainder_bound: policy.remainder_bound(&step),
            covariance,
            kl_new_old: divergence.new_from_old,
            kl_old_new: divergence.old_from_new,
        })
    }
}
