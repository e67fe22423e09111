//! The training method, which may change between two rollouts.

use super::difficulty::ThermostatControl;
use crate::experiment::error::{ExperimentError, check_at_least, check_finite};
use rl_losses::{
    AdaptiveEntropy, AdaptiveKl, AdvantageEstimator, Aggregation, Annealing, ClipRange, DualClip,
    PolicyLoss, PpoClip, RolloutCorrection,
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
    /// Coefficient of `KL(π ‖ π_ref)` taken off each token's reward, as the log-ratio of the token, reward per nat; 0 is none.
    #[serde(skip_serializing_if = "is_zero")]
    pub reward_kl: f64,
    /// Thermostats that move a number of the loss. Read at the start of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermostat: Option<ThermostatControl>,
    /// Number of the loss that moves on a straight line over the rollouts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annealing: Option<Annealing>,
    /// Controller of the entropy bonus, in place of `entropy_bonus`. Read at the start of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_entropy: Option<AdaptiveEntropy>,
    /// Controller of the exact divergence from the policy before training, in place of `reference_kl`. Read at the start of a run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_kl: Option<AdaptiveKl>,
    /// Importance weights of the tokens of a stale rollout: the policy before the update against the one that sampled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correction: Option<RolloutCorrection>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
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
            reward_kl: 0.0,
            thermostat: None,
            annealing: None,
            adaptive_entropy: None,
            adaptive_kl: None,
            correction: None,
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
        check_finite("entropy_bonus", self.entropy_bonus)?;
        check_finite("reference_kl", self.reference_kl)?;
        check_at_least("reward_kl", self.reward_kl, 0.0)?;
        if let Some(thermostat) = &self.thermostat {
            thermostat.check(&self.loss)?;
        }
        if let Some(annealing) = &self.annealing {
            annealing.at(&self.loss, 1.0).map_err(|reason| {
                ExperimentError(format!("`annealing` of `{}`: {reason}", self.loss.name()))
            })?;
        }
        let thermostat = ("thermostat", self.thermostat.is_some());
        let adaptive_entropy = ("adaptive_entropy", self.adaptive_entropy.is_some());
        let pass_at_k = matches!(self.advantage, AdvantageEstimator::PassAtK(_));
        for [(first, has_first), (second, has_second)] in [
            [("annealing", self.annealing.is_some()), thermostat],
            [adaptive_entropy, thermostat],
            [adaptive_entropy, ("entropy_bonus", self.entropy_bonus != 0.0)],
            [
                ("adaptive_kl", self.adaptive_kl.is_some()),
                ("reference_kl", self.reference_kl != 0.0),
            ],
            // Its sets count right answers alone.
            [("reward_kl", self.reward_kl != 0.0), ("pass-at-k", pass_at_k)],
        ] {
            if has_first && has_second {
                return Err(ExperimentError(format!(
                    "`{first}` and `{second}` are both given, expected one of them"
                )));
            }
        }
        Ok(())
    }

    /// The method when `share` of the run is done, in `0..1`.
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
