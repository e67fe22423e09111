//! An entropy coefficient that moves by how far the entropy has left a band: `AEnt`.

use serde::{Deserialize, Serialize};

use super::ControlError;
use crate::{
    ParameterError,
    parameter::{check_not_negative, check_positive},
    settings::{Settings, checked_when_read},
};

/// Settings of a coefficient that holds the entropy in a band.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct EntropyBand {
    /// Lower end of the band, in nats, above 0.
    pub entropy_low: f64,
    /// Upper end of the band, in nats, above `entropy_low`.
    pub entropy_high: f64,
    /// Change of the coefficient per nat outside the band, above 0.
    pub rate: f64,
    /// Coefficient at the start, `coefficient_low..=coefficient_high`.
    pub initial: f64,
    /// Smallest coefficient, 0 or above.
    pub coefficient_low: f64,
    /// Largest coefficient, above `coefficient_low`.
    pub coefficient_high: f64,
}

impl Settings for EntropyBand {
    fn check(&self) -> Result<(), ParameterError> {
        check_positive("rate", self.rate)?;
        let ordered = |low_field, low: f64, high_field, high: f64, least: bool| {
            if low < high || (least && low <= high) {
                Ok(())
            } else {
                Err(ParameterError::Order { low_field, low, high_field, high })
            }
        };
        let low = check_positive("entropy_low", self.entropy_low)?;
        let high = check_positive("entropy_high", self.entropy_high)?;
        ordered("entropy_low", low, "entropy_high", high, false)?;
        let low = check_not_negative("coefficient_low", self.coefficient_low)?;
        let high = check_not_negative("coefficient_high", self.coefficient_high)?;
        let initial = check_not_negative("initial", self.initial)?;
        ordered("coefficient_low", low, "coefficient_high", high, false)?;
        ordered("coefficient_low", low, "initial", initial, true)?;
        ordered("initial", initial, "coefficient_high", high, true)
    }
}

checked_when_read!(EntropyBand);

/// The coefficient of an entropy bonus and how it moves.
///
/// ```text
/// c ← clip(c + rate · [max(0, low - H) - max(0, H - high)], coefficient_low, coefficient_high)
/// ```
///
/// Inside the band it stays. In `AEnt` the entropy is the clamped one of
/// [`restricted_entropy`](crate::restricted_entropy).
///
/// Source: Shen 2025, `AEnt`, [arXiv:2509.03493](https://arxiv.org/abs/2509.03493).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EntropyBandController {
    settings: EntropyBand,
    coefficient: f64,
}

impl EntropyBandController {
    /// A controller at its initial coefficient.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] if a setting is out of its range or a band is upside down.
    pub fn new(settings: EntropyBand) -> Result<Self, ParameterError> {
        settings.check()?;
        Ok(Self { settings, coefficient: settings.initial })
    }

    /// Coefficient of the next step's bonus.
    pub fn coefficient(&self) -> f64 {
        self.coefficient
    }

    /// Takes in the entropy of a step, in nats.
    ///
    /// # Errors
    ///
    /// [`ControlError::NotFinite`] if the entropy is; the state then stays.
    pub fn update(&mut self, entropy: f64) -> Result<(), ControlError> {
        ControlError::check_finite("entropy", entropy)?;
        let EntropyBand {
            entropy_low, entropy_high, rate, coefficient_low, coefficient_high, ..
        } = self.settings;
        let outside = (entropy_low - entropy).max(0.0) - (entropy - entropy_high).max(0.0);
        let moved = rate.mul_add(outside, self.coefficient);
        self.coefficient = moved.clamp(coefficient_low, coefficient_high);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BAND: EntropyBand = EntropyBand {
        entropy_low: 0.2,
        entropy_high: 0.4,
        rate: 1.0,
        initial: 0.5,
        coefficient_low: 0.0,
        coefficient_high: 0.6,
    };

    #[test]
    fn the_coefficient_moves_only_outside_the_band() {
        let mut controller = EntropyBandController::new(BAND).unwrap();
        for (entropy, expected) in [(0.3, 0.5), (0.15, 0.55), (0.0, 0.6), (0.9, 0.1), (9.0, 0.0)] {
            controller.update(entropy).unwrap();
            assert!((controller.coefficient() - expected).abs() < 1e-15, "{entropy}");
        }
    }

    #[test]
    fn a_band_upside_down_is_refused() {
        let error = EntropyBandController::new(EntropyBand { entropy_low: 0.5, ..BAND });
        let expected = "`entropy_low` is 0.5, expected less than `entropy_high`, which is 0.4";
        assert_eq!(error.unwrap_err().to_string(), expected);
    }
}
