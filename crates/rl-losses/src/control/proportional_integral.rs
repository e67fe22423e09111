//! Weights of positive and negative tokens, moved by a PI controller of entropy: `EntroPIC`.

use serde::{Deserialize, Serialize};

use super::ControlError;
use crate::{
    ColumnError, ParameterError,
    column::check_columns,
    parameter::{check_not_negative, check_positive, check_unit},
    settings::{Settings, checked_when_read},
};

/// Settings of [`EntropicPiController`].
///
/// Default: the values of a published port, 0.5 nats with gains 1 and 0.01, on all tokens.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct EntropicPi {
    /// Entropy to hold, in nats, above 0.
    pub target: f64,
    /// `K_p`, per nat, 0 or above.
    pub proportional: f64,
    /// `K_i`, per nat and step, 0 or above.
    pub integral: f64,
    /// The most `|α|` may be, `0..=1`: beyond 1 a weight would turn its sign.
    pub limit: f64,
    /// Only tokens of at least this probability are reweighted, `0..=1`; 0 is all tokens.
    pub least_probability: f64,
}

impl Default for EntropicPi {
    fn default() -> Self {
        Self { target: 0.5, proportional: 1.0, integral: 0.01, limit: 1.0, least_probability: 0.0 }
    }
}

impl Settings for EntropicPi {
    fn check(&self) -> Result<(), ParameterError> {
        check_positive("target", self.target)?;
        check_not_negative("proportional", self.proportional)?;
        check_not_negative("integral", self.integral)?;
        check_unit("limit", self.limit)?;
        check_unit("least_probability", self.least_probability).map(drop)
    }
}

checked_when_read!(EntropicPi);

/// `α = K_p e + K_i Σ e` with `e = H - target`, held to `±limit`; the sum rests while `α` is held
/// and the error would push it further.
///
/// Tokens of positive advantage weigh `1 + α`, of negative advantage `1 - α`: with too little
/// entropy (`α < 0`) the policy is pushed up less and down more.
///
/// Source: Yang et al. 2025, `EntroPIC`, [arXiv:2511.15248](https://arxiv.org/abs/2511.15248); the
/// bound and the resting sum are ours (row 41 of `docs/paper-vs-code.md`).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntropicPiController {
    settings: EntropicPi,
    error_sum: f64,
    alpha: f64,
}

impl EntropicPiController {
    /// A controller with `α = 0`.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] if a setting is out of its range.
    pub fn new(settings: EntropicPi) -> Result<Self, ParameterError> {
        settings.check()?;
        Ok(Self { settings, error_sum: 0.0, alpha: 0.0 })
    }

    /// `α` of the next step.
    pub fn alpha(&self) -> f64 {
        self.alpha
    }

    /// Takes in the entropy of a step, in nats.
    ///
    /// # Errors
    ///
    /// [`ControlError::NotFinite`] if the entropy is; the state then stays.
    pub fn update(&mut self, entropy: f64) -> Result<(), ControlError> {
        ControlError::check_finite("entropy", entropy)?;
        let EntropicPi { target, proportional, integral, limit, .. } = self.settings;
        let error = entropy - target;
        let sum = self.error_sum + error;
        let wanted = proportional * error + integral * sum;
        self.alpha = wanted.clamp(-limit, limit);
        let held = (wanted - self.alpha) * error > 0.0;
        if !held {
            self.error_sum = sum;
        }
        Ok(())
    }

    /// Weights of tokens, `[tokens]`, to be passed to [`StepPlan::reweight`](crate::StepPlan::reweight):
    /// `1 + α` where the advantage is positive, `1 - α` where it is negative, else 1.
    ///
    /// # Errors
    ///
    /// [`ColumnError`] if the columns, both `[tokens]`, differ in length or a value is not finite.
    pub fn weights(
        &self,
        advantage: &[f64],
        old_log_prob: &[f64],
    ) -> Result<Vec<f64>, ColumnError> {
        check_columns(&[("advantage", advantage), ("old_log_prob", old_log_prob)])?;
        let least = self.settings.least_probability;
        let weights = std::iter::zip(advantage, old_log_prob).map(|(&advantage, log_prob)| {
            if advantage == 0.0 || log_prob.exp() < least {
                1.0
            } else {
                1.0 + self.alpha * advantage.signum()
            }
        });
        Ok(weights.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(entropies: &[f64], settings: EntropicPi) -> EntropicPiController {
        let mut controller = EntropicPiController::new(settings).unwrap();
        for &entropy in entropies {
            controller.update(entropy).unwrap();
        }
        controller
    }

    #[test]
    fn with_too_little_entropy_positive_tokens_weigh_less() {
        let controller = at(&[0.3], EntropicPi::default());
        let weights = controller.weights(&[1.0, -1.0, 0.0], &[-0.1; 3]).unwrap();
        let alpha = -0.2 - 0.002;
        for (found, expected) in std::iter::zip(weights, [1.0 + alpha, 1.0 - alpha, 1.0]) {
            assert!((found - expected).abs() < 1e-15, "{found} {expected}");
        }
    }

    #[test]
    fn improbable_tokens_are_left_alone_if_asked() {
        let controller = at(&[0.3], EntropicPi { least_probability: 0.5, ..EntropicPi::default() });
        assert_eq!(controller.weights(&[1.0], &[-3.0]).unwrap(), [1.0]);
    }

    #[test]
    fn the_sum_does_not_wind_up_while_the_weight_is_held() {
        let settings = EntropicPi { limit: 0.1, ..EntropicPi::default() };
        let long = at(&[0.1; 1000], settings);
        assert!((long.alpha() + 0.1).abs() < 1e-15);
        let mut controller = long;
        controller.update(0.6).unwrap();
        assert!(controller.alpha() > 0.05, "{}", controller.alpha());
    }
}
