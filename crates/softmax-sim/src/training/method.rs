//! The training method, which may change between two rollouts.

use crate::experiment::error::{ExperimentError, check_bounds};
use rl_losses::{
    AdvantageEstimator, Aggregation, Annealing, ClipRange, DifficultyThermostatSettings, DualClip,
    PolicyLoss, PpoClip, Scope,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The training method: loss, advantages, and regularisers with their coefficients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Method {
    /// Policy loss.
    pub loss: PolicyLoss,
    /// How rewards become advantages. With PRIME a reward model learns beside the policy, with GAE a critic of one value per state.
    pub advantage: AdvantageEstimator,
    /// How tokens are averaged.
    pub aggregation: Aggregation,
    /// Coefficient of the exact entropy bonus, reward per nat; 0 is none.
    pub entropy_bonus: f64,
    /// Coefficient of the exact `KL(π ‖ π_ref)` to the policy before training, reward per nat; 0 is
    /// none.
    pub reference_kl: f64,
    /// Thermostats that move the share of tokens that the loss treats, one for each bucket of difficulty. Read at the start of a
    /// run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermostat: Option<DifficultyThermostatSettings>,
    /// Number of the loss that moves on a straight line over the rollouts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annealing: Option<Annealing>,
}

impl Method {
    /// A loss with group-relative advantages, averaged over tokens, without regularisers.
    pub fn of(loss: PolicyLoss) -> Self {
        Self {
            loss,
            advantage: AdvantageEstimator::Grpo,
            aggregation: Aggregation::TokenMean,
            entropy_bonus: 0.0,
            reference_kl: 0.0,
            thermostat: None,
            annealing: None,
        }
    }

    /// Sets the estimator of advantages.
    #[must_use]
    pub fn with_advantage(self, advantage: AdvantageEstimator) -> Self {
        Self { advantage, ..self }
    }

    /// Sets the coefficient of the entropy bonus.
    #[must_use]
    pub fn with_entropy_bonus(self, coefficient: f64) -> Self {
        Self { entropy_bonus: coefficient, ..self }
    }

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
        if let Some(annealing) = &self.annealing {
            annealing
                .at(&self.loss, 1.0)
                .map_err(|source| ExperimentError::Annealing { loss: self.loss.name(), source })?;
            if self.thermostat.is_some() {
                return Err(ExperimentError::AnnealedThermostat);
            }
        }
        Ok(())
    }

    /// The method when `share` of the run is done, in `0..1`.
    ///
    /// # Panics
    ///
    /// If the loss cannot be annealed so.
    pub(crate) fn after(&self, share: f64) -> Cow<'_, Self> {
        self.annealing.map_or(Cow::Borrowed(self), |annealing| {
            let loss = annealing.at(&self.loss, share).expect("an annealing of the loss");
            Cow::Owned(Self { loss, ..self.clone() })
        })
    }

    /// Sets the coefficient of the KL to the starting policy.
    #[must_use]
    pub fn with_reference_kl(self, coefficient: f64) -> Self {
        Self { reference_kl: coefficient, ..self }
    }
}

impl Default for Method {
    /// GRPO as the paper's baseline has it: ratio clipped at 0.2 on both sides, no dual clip.
    fn default() -> Self {
        let clip = ClipRange::new(0.2, 0.2).expect("a clip of 0.2 is in range");
        Self::of(PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::OFF)))
    }
}
