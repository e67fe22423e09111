//! An entropy coefficient that takes fixed steps towards a target: Skywork-OR1.

use serde::{Deserialize, Serialize};

use super::ControlError;
use crate::parameter::{ParameterError, Settings, check_at_most, settings};

settings! {
    /// Settings of the adaptive entropy coefficient.
    ///
    /// Default: the published scripts, 0.2 nats by steps of 1e-4 up to 5e-3, from 0.
    pub struct AdaptiveEntropy {
        /// Entropy to stay above, in nats, above 0; instead of `entropy_coefficient` and of a
        /// thermostat. While the entropy is below, the weight of the entropy bonus grows by a step.
        /// Else it shrinks by a step and is not used.
        pub target: f64 = 0.2, check_positive;
        /// Change of the weight in one training step, reward per nat, above 0.
        pub step: f64 = 1e-4, check_positive;
        /// Largest weight, reward per nat, above 0.
        pub maximum: f64 = 5e-3, check_positive;
        /// Weight in the first step, at most `maximum`.
        pub initial: f64 = 0.0, check_not_negative;
    } also |settings| {
        check_at_most(("initial", settings.initial), ("maximum", settings.maximum))
    }
}

/// The coefficient of an entropy bonus and how it moves.
///
/// ```text
/// c ← clip(c + step · sign(target - H), 0, maximum)      used: c where H < target, else 0
/// ```
///
/// Source: He et al. 2025, Skywork-OR1, [Sec. 4](https://arxiv.org/abs/2505.22312).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdaptiveEntropyController {
    settings: AdaptiveEntropy,
    coefficient: f64,
    below_target: bool,
}

impl AdaptiveEntropyController {
    /// A controller at its initial coefficient, which counts from the first step on.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] if a setting is out of its range.
    pub fn new(settings: AdaptiveEntropy) -> Result<Self, ParameterError> {
        settings.check()?;
        Ok(Self { settings, coefficient: settings.initial, below_target: true })
    }

    /// Coefficient of the next step's bonus: 0 while the entropy is at the target or above.
    pub fn coefficient(&self) -> f64 {
        if self.below_target { self.coefficient } else { 0.0 }
    }

    /// Takes in the entropy of a step, in nats.
    ///
    /// # Errors
    ///
    /// [`ControlError::Measured`] if the entropy is not finite; the state then stays.
    pub fn update(&mut self, entropy: f64) -> Result<(), ControlError> {
        ControlError::check_finite("entropy", entropy)?;
        let AdaptiveEntropy { target, step, maximum, .. } = self.settings;
        self.below_target = entropy < target;
        let change = if self.below_target { step } else { -step };
        self.coefficient = (self.coefficient + change).clamp(0.0, maximum);
        Ok(())
    }
}
