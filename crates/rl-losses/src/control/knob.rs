//! Numbers of a policy loss that a thermostat moves.

use serde::{Deserialize, Serialize};

use crate::{
    Base, ControlError, PolicyLoss, Treatment,
    parameter::{check_fraction, check_not_negative},
};

/// A number of a policy loss that raises entropy when it grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Knob {
    /// Share of the tokens that Clip-Cov drops or KL-Cov penalises, or a composition of theirs treats.
    Fraction,
    /// Strength of KL-Cov's penalty, or of a composition's. Anchored at the reference it is the knob to
    /// hold an entropy by ([`Thermostat`](crate::Thermostat) says why). Anchored at the old policy, keep it
    /// at or below the size of the advantages: above, it reverses the update of the tokens it treats.
    Coefficient,
    /// Upper end of the trust region of PPO, Clip-Cov or a composition over PPO: clip-higher.
    ClipRatioHigh,
}

impl Knob {
    /// Reads the value of the knob from `loss`: the start of a thermostat.
    ///
    /// # Errors
    ///
    /// [`ControlError::NoKnob`] if the loss does not have this knob.
    pub fn read(self, loss: &PolicyLoss) -> Result<f64, ControlError> {
        let mut loss = *loss;
        self.number(&mut loss).map(|number| *number).ok_or(ControlError::NoKnob(self.name()))
    }

    /// Returns `loss` with the knob at `value`.
    ///
    /// # Errors
    ///
    /// [`ControlError`] if the loss does not have this knob, or `value` is out of its range.
    pub fn set(self, loss: &PolicyLoss, value: f64) -> Result<PolicyLoss, ControlError> {
        let value = match self {
            Self::Fraction => check_fraction(self.name(), value)?,
            Self::Coefficient | Self::ClipRatioHigh => check_not_negative(self.name(), value)?,
        };
        let mut moved = *loss;
        let number = self.number(&mut moved).ok_or(ControlError::NoKnob(self.name()))?;
        *number = value;
        Ok(moved)
    }

    fn number(self, loss: &mut PolicyLoss) -> Option<&mut f64> {
        match (self, loss) {
            (Self::Fraction, PolicyLoss::ClipCov(loss)) => Some(&mut loss.fraction),
            (Self::Fraction, PolicyLoss::KlCov(loss)) => Some(&mut loss.fraction),
            (Self::Fraction, PolicyLoss::CovarianceControl(loss)) => Some(&mut loss.fraction),
            (Self::Coefficient, PolicyLoss::KlCov(loss)) => Some(&mut loss.coefficient),
            (Self::Coefficient, PolicyLoss::CovarianceControl(loss)) => match &mut loss.treatment {
                Treatment::Penalise(penalty) => Some(&mut penalty.coefficient),
                Treatment::Drop | Treatment::Detach | Treatment::Reweight(_) => None,
            },
            (Self::ClipRatioHigh, PolicyLoss::PpoClip(loss)) => Some(&mut loss.clip_ratio_high),
            (Self::ClipRatioHigh, PolicyLoss::ClipCov(loss)) => Some(&mut loss.clip_ratio_high),
            (Self::ClipRatioHigh, PolicyLoss::CovarianceControl(loss)) => match &mut loss.base {
                Base::PpoClip(surrogate) => Some(&mut surrogate.clip_ratio_high),
                Base::Unclipped => None,
            },
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Fraction => "fraction",
            Self::Coefficient => "coefficient",
            Self::ClipRatioHigh => "clip_ratio_high",
        }
    }
}
