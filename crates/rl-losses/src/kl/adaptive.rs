//! A KL coefficient that holds the divergence near a target.

use serde::{Deserialize, Serialize};

use crate::{
    control::ControlError,
    parameter::{ParameterError, Settings, check_not_negative, settings},
};

/// The most one update changes the coefficient, relative to `samples / horizon`.
const ERROR_LIMIT: f64 = 0.2;

settings! {
    /// Settings of the adaptive coefficient.
    ///
    /// Default: verl's, 0.001 towards 0.1 nats over 10 000 samples.
    pub struct AdaptiveKl {
        /// First coefficient, above 0, instead of `fixed`; the measured divergence then moves it.
        pub initial: f64 = 0.001, check_positive;
        /// Divergence to hold, in nats, above 0.
        pub target: f64 = 0.1, check_positive;
        /// Responses over which a constant error changes the coefficient by about a fifth, above 0.
        pub horizon: f64 = 10_000.0, check_positive;
    }
}

/// How the KL coefficient is set.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KlCoefficient {
    /// Coefficient of the divergence, reward per nat, at least 0.
    Fixed(f64),
    /// By the divergence measured at each step.
    Adaptive(AdaptiveKl),
}

/// A coefficient and how it moves; serialised, it continues where it was.
///
/// ```text
/// coefficient ← coefficient · (1 + clip(kl / target - 1, ±0.2) · samples / horizon)
/// ```
///
/// Source: Ziegler et al. 2019, [Sec. 2.2](https://arxiv.org/abs/1909.08593); verl
/// `AdaptiveKLController`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KlController {
    settings: KlCoefficient,
    coefficient: f64,
}

impl KlController {
    /// A controller at its initial coefficient.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] if a setting is out of its range.
    pub fn new(settings: KlCoefficient) -> Result<Self, ParameterError> {
        let coefficient = match settings {
            KlCoefficient::Fixed(coefficient) => check_not_negative("fixed", coefficient)?,
            KlCoefficient::Adaptive(adaptive) => {
                adaptive.check()?;
                adaptive.initial
            }
        };
        Ok(Self { settings, coefficient })
    }

    /// The coefficient of the next step.
    pub fn coefficient(&self) -> f64 {
        self.coefficient
    }

    /// Takes in the divergence of a step (nats) over `samples` responses. The factor is held above
    /// 0, so that a step of more than five horizons cannot turn the sign.
    ///
    /// # Errors
    ///
    /// [`ControlError::Measured`] if the divergence is not finite; the coefficient then stays.
    pub fn update(&mut self, divergence: f64, samples: usize) -> Result<(), ControlError> {
        let KlCoefficient::Adaptive(settings) = self.settings else { return Ok(()) };
        ControlError::check_finite("divergence", divergence)?;
        let error = (divergence / settings.target - 1.0).clamp(-ERROR_LIMIT, ERROR_LIMIT);
        let factor = 1.0 + error * samples as f64 / settings.horizon;
        self.coefficient = (self.coefficient * factor.max(f64::EPSILON)).min(f64::MAX);
        Ok(())
    }
}
