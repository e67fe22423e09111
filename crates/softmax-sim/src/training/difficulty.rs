//! A share of treated tokens for each bucket of difficulty, moved by a thermostat of its own.

use rl_losses::{DifficultyThermostat, DifficultyThermostatSettings};

/// Thermostats by difficulty, and what a rollout tells them.
#[derive(Debug, Clone)]
pub(super) struct Difficulty {
    thermostats: DifficultyThermostat,
    /// Mean entropy over the tokens of each bucket, in nats; none of a bucket without tokens.
    entropies: Vec<Option<f64>>,
}

impl Difficulty {
    pub(super) fn new(settings: &DifficultyThermostatSettings) -> Self {
        let thermostats = DifficultyThermostat::new(settings).expect("settings in their range");
        Self { entropies: vec![None; thermostats.thermostats().len()], thermostats }
    }

    /// Share of each bucket's tokens that is treated.
    pub(super) fn fractions(&self) -> Vec<f64> {
        self.thermostats.knobs()
    }

    /// Bucket of each sample, `[samples]`, by the mean reward of its group.
    pub(super) fn buckets(&self, rewards: &[f64], group_size: usize) -> Vec<usize> {
        self.thermostats.buckets(rewards, group_size)
    }

    /// Measures a rollout; `entropy` is that of each token, in nats, the samples laid end to end.
    pub(super) fn measure(&mut self, rewards: &[f64], group_size: usize, entropy: &[f64]) {
        let positions = entropy.len() / rewards.len().max(1);
        let lengths = vec![positions; rewards.len()];
        let buckets = self.buckets(rewards, group_size);
        self.entropies = self.thermostats.entropies(&buckets, &lengths, entropy);
    }

    /// Moves the thermostats by what the rollout measured.
    pub(super) fn update(&mut self) {
        self.thermostats.update(&self.entropies).expect("entropies are finite and not negative");
    }
}

#[cfg(test)]
mod tests {
    use rl_losses::{EntropyTarget, ThermostatSettings};

    use super::*;

    #[test]
    fn each_bucket_moves_by_the_entropy_of_its_own_prompts() {
        let target = EntropyTarget::constant(0.4);
        let thermostat = ThermostatSettings::new(target, 0.02, 1e-4, 0.5).unwrap();
        let settings = DifficultyThermostatSettings { accuracy_edges: vec![0.5], thermostat };
        let mut difficulty = Difficulty::new(&settings);
        assert_eq!(difficulty.fractions(), [0.02; 2].map(|x: f64| x.ln().exp()));
        // A hard prompt with enough entropy and an easy one with too little, two samples of two tokens each.
        let rewards = [0.0, 0.0, 1.0, 1.0];
        assert_eq!(difficulty.buckets(&rewards, 2), [0, 0, 1, 1]);
        difficulty.measure(&rewards, 2, &[0.8, 0.8, 0.8, 0.8, 0.1, 0.1, 0.1, 0.1]);
        difficulty.update();
        let fractions = difficulty.fractions();
        assert!(fractions[0] < 0.02 && 0.02 < fractions[1], "{fractions:?}");
    }
}
