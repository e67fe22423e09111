//! The method of a run, as configurations write it.

use super::error::{ExperimentError, check_bounds};
use crate::training::Method;
use rl_losses::{AdvantageEstimator, Aggregation, DifficultyThermostatSettings, PolicyLoss, Scope};
use serde::{Deserialize, Serialize};

/// [`Method`] as written in a configuration, with its defaults.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MethodSettings {
    /// Policy loss.
    pub loss: PolicyLoss,
    /// How rewards become advantages.
    pub advantage: AdvantageEstimator,
    /// How tokens are averaged.
    pub aggregation: Aggregation,
    /// Coefficient of the entropy bonus, reward per nat.
    pub entropy_bonus: f64,
    /// Coefficient of the reference KL, reward per nat.
    pub reference_kl: f64,
    /// Thermostats that move the share of tokens that the loss treats, one for each bucket of difficulty.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermostat: Option<DifficultyThermostatSettings>,
}

impl Default for MethodSettings {
    fn default() -> Self {
        let Method { loss, advantage, aggregation, entropy_bonus, reference_kl, thermostat } =
            Method::default();
        Self { loss, advantage, aggregation, entropy_bonus, reference_kl, thermostat }
    }
}

impl MethodSettings {
    /// Checks that the method can be run.
    ///
    /// # Errors
    ///
    /// [`ExperimentError`], naming the setting.
    pub fn check(&self) -> Result<(), ExperimentError> {
        check_bounds([
            ("entropy_bonus", self.entropy_bonus, f64::MIN),
            ("reference_kl", self.reference_kl, f64::MIN),
        ])?;
        let has_share = self.loss.scope() == Some(Scope::MiniBatch);
        if self.thermostat.is_some() && !has_share {
            return Err(ExperimentError::Thermostat(self.loss.name()));
        }
        match self.advantage {
            AdvantageEstimator::Gae(_) => Err(ExperimentError::Advantage),
            _ => Ok(()),
        }
    }
}

impl From<MethodSettings> for Method {
    fn from(settings: MethodSettings) -> Self {
        let MethodSettings {
            loss,
            advantage,
            aggregation,
            entropy_bonus,
            reference_kl,
            thermostat,
        } = settings;
        Self { loss, advantage, aggregation, entropy_bonus, reference_kl, thermostat }
    }
}
