//! Entropy of a policy over right and wrong actions, split by success, and its change along a
//! natural flow.

use crate::categorical::Categorical;
use serde::{Deserialize, Serialize};

/// Entropy of a policy over actions that are right or wrong, in its three parts.
///
/// ```text
/// H = h(R) + R H_c + (1 - R) H_w,   h(R) = -R ln R - (1 - R) ln(1 - R)
/// ```
///
/// Along the natural flow of a binary reward the last two parts of the *state* stay constant and
/// only the odds of success move.
///
/// Derivation: `docs/theory.md#binary-reward`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BinarySplit {
    /// `ln(R / (1 - R))` of the probability of success `R`; infinite where it is 0 or 1.
    pub log_odds: f64,
    /// Entropy among the right actions, `H_c`, in nats; 0 if no action is right.
    pub entropy_right: f64,
    /// Entropy among the wrong actions, `H_w`, in nats; 0 if no action is wrong.
    pub entropy_wrong: f64,
}

impl BinarySplit {
    /// Splits a policy by which of its actions are right.
    ///
    /// # Panics
    ///
    /// If `is_right` does not hold one value per action.
    pub fn of(policy: &Categorical, is_right: &[bool]) -> Self {
        assert!(
            is_right.len() == policy.actions(),
            "{} verdicts for {} actions: expected one per action",
            is_right.len(),
            policy.actions()
        );
        let side = |wanted: bool| {
            let logit = |(log_prob, right): (&f64, &bool)| {
                if *right == wanted { *log_prob } else { f64::NEG_INFINITY }
            };
            let logits: Vec<f64> =
                std::iter::zip(policy.log_probs(), is_right).map(logit).collect();
            let side = Categorical::from_logits(&logits).ok();
            let log_mass = side.as_ref().map_or(f64::NEG_INFINITY, |side| {
                policy.log_probs()[side.mode()] - side.log_probs()[side.mode()]
            });
            (log_mass, side.map_or(0.0, |side| side.entropy()))
        };
        let ((log_right, entropy_right), (log_wrong, entropy_wrong)) = (side(true), side(false));
        Self { log_odds: log_right - log_wrong, entropy_right, entropy_wrong }
    }

    /// Probability of success, `R`.
    pub fn success(self) -> f64 {
        1.0 / (1.0 + (-self.log_odds).exp())
    }

    /// Entropy `H` of the policy, from the three parts, in nats.
    pub fn entropy(self) -> f64 {
        let verdict = match Categorical::from_logits(&[self.log_odds, 0.0]) {
            Ok(verdict) => verdict.entropy(),
            Err(_) => 0.0, // certain success
        };
        let failure = 1.0 / (1.0 + self.log_odds.exp());
        verdict + self.success() * self.entropy_right + failure * self.entropy_wrong
    }

    /// Mean log-probability of a right action less that of a wrong one,
    /// `E[log π | right] - E[log π | wrong] = logit R - H_c + H_w`, in nats: how well calibrated
    /// the policy is.
    pub fn log_prob_gap(self) -> f64 {
        self.log_odds - self.entropy_right + self.entropy_wrong
    }

    /// Covariance of log-probability and the verdict, `R (1 - R)` times the
    /// [gap](Self::log_prob_gap), in nats: that of Theorem 2 for a reward of 0 or 1.
    ///
    /// With group-normalised advantages it is this times [`grpo_clock`](crate::grpo_clock). Easy
    /// and hard prompts of equal variance differ in the gap alone.
    pub fn covariance(self) -> f64 {
        let variance = self.success() / (1.0 + self.log_odds.exp());
        if variance == 0.0 { 0.0 } else { variance * self.log_prob_gap() }
    }

    /// The split after `time` of the natural flow whose reward is 1 for right actions and 0 for
    /// wrong ones: `R = σ(logit R_0 + t)`.
    #[must_use]
    pub fn after(self, time: f64) -> Self {
        Self { log_odds: self.log_odds + time, ..self }
    }
}
