//! Thermostats over a number of the loss: one for each bucket of difficulty where that is the share of treated tokens.

use crate::experiment::error::ExperimentError;
use rl_losses::{
    DifficultyThermostat, DifficultyThermostatSettings, Knob, PolicyLoss, Scope, ThermostatSettings,
};
use serde::{Deserialize, Serialize};

/// Thermostats of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThermostatControl {
    /// Number of the loss that moves; by default the fraction of tokens that it treats over a mini-batch.
    #[serde(default = "fraction")]
    pub knob: Knob,
    /// Accuracies of a group between buckets of difficulty, ascending. Each bucket has a fraction of its own.
    #[serde(default)]
    pub accuracy_edges: Vec<f64>,
    /// The thermostat that every bucket starts with.
    pub thermostat: ThermostatSettings,
}

fn fraction() -> Knob {
    Knob::Fraction
}

impl ThermostatControl {
    pub(super) fn check(&self, loss: &PolicyLoss) -> Result<(), ExperimentError> {
        let name = loss.name();
        let refused = |reason| ExperimentError(format!("`thermostat` of `{name}`: {reason}"));
        DifficultyThermostat::new(&self.settings()).map_err(|error| refused(error.into()))?;
        self.knob.set(loss, self.thermostat.initial).map_err(refused)?;
        if self.accuracy_edges.is_empty() || by_bucket(self.knob, loss) {
            return Ok(());
        }
        Err(ExperimentError(format!(
            "`accuracy_edges` are given, expected none unless `fraction` moves, of a loss that selects over the mini-batch \
             (`{name}`)"
        )))
    }

    fn settings(&self) -> DifficultyThermostatSettings {
        let accuracy_edges = self.accuracy_edges.clone();
        DifficultyThermostatSettings { accuracy_edges, thermostat: self.thermostat }
    }
}

/// True if buckets of difficulty may differ in the number that moves.
fn by_bucket(knob: Knob, loss: &PolicyLoss) -> bool {
    knob == Knob::Fraction && loss.scope() == Some(Scope::MiniBatch)
}

/// Thermostats by difficulty, and what a rollout tells them.
#[derive(Debug, Clone)]
pub(super) struct Difficulty {
    knob: Knob,
    pub(super) thermostats: DifficultyThermostat,
    /// Mean entropy over the tokens of each bucket, in nats; none of a bucket without tokens.
    entropies: Vec<Option<f64>>,
}

impl Difficulty {
    pub(super) fn new(control: &ThermostatControl) -> Self {
        let settings = control.settings();
        let thermostats = DifficultyThermostat::new(&settings).expect("settings in their range");
        let entropies = vec![None; thermostats.thermostats().len()];
        Self { knob: control.knob, entropies, thermostats }
    }

    /// Share of each bucket's tokens that `loss` treats over a mini-batch; none where the thermostat moves the loss itself.
    pub(super) fn fractions(&self, loss: &PolicyLoss) -> Option<Vec<f64>> {
        by_bucket(self.knob, loss).then(|| self.thermostats.knobs())
    }

    /// The loss with its number where the thermostat has it.
    pub(super) fn moved(&self, loss: &PolicyLoss) -> PolicyLoss {
        self.knob.set(loss, self.thermostats.knobs()[0]).expect("a knob of the loss, in its range")
    }

    /// Measures a rollout; `entropy` is that of each token, in nats, the samples laid end to end.
    pub(super) fn measure(&mut self, rewards: &[f64], group_size: usize, entropy: &[f64]) {
        let positions = entropy.len() / rewards.len().max(1);
        let lengths = vec![positions; rewards.len()];
        let buckets = self.thermostats.buckets(rewards, group_size);
        self.entropies = self.thermostats.entropies(&buckets, &lengths, entropy);
    }

    pub(super) fn update(&mut self) {
        self.thermostats.update(&self.entropies).expect("entropies are finite and not negative");
    }
}

#[cfg(test)]
mod tests {
    use rl_losses::{EntropyTarget, KlCov};

    use super::*;

    #[test]
    fn each_bucket_moves_by_the_entropy_of_its_own_prompts() {
        let target = EntropyTarget::constant(0.4);
        let thermostat = ThermostatSettings::new(target, 0.02, 1e-4, 0.5).unwrap();
        let control =
            ThermostatControl { knob: Knob::Fraction, accuracy_edges: vec![0.5], thermostat };
        let loss = PolicyLoss::KlCov(KlCov::default());
        let mut difficulty = Difficulty::new(&control);
        let fractions = |difficulty: &Difficulty| difficulty.fractions(&loss).unwrap();
        assert_eq!(fractions(&difficulty), [0.02; 2].map(|x: f64| x.ln().exp()));
        // A hard prompt with enough entropy and an easy one with too little, two samples of two tokens each.
        let rewards = [0.0, 0.0, 1.0, 1.0];
        assert_eq!(difficulty.thermostats.buckets(&rewards, 2), [0, 0, 1, 1]);
        difficulty.measure(&rewards, 2, &[0.8, 0.8, 0.8, 0.8, 0.1, 0.1, 0.1, 0.1]);
        difficulty.update();
        let fractions = fractions(&difficulty);
        assert!(fractions[0] < 0.02 && 0.02 < fractions[1], "{fractions:?}");
    }
}
