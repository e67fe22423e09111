//! The thermostat on real policies: sampled policy gradients collapse, and it holds them.

use entropy_core::{Categorical, token_covariances};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_losses::{
    AdvantageEstimator, EntropyTarget, RolloutColumns, Thermostat, ThermostatSettings,
};

const STATES: usize = 48;
const ACTIONS: usize = 8;
const GROUP: usize = 8;

/// Tabular softmax policies, one per prompt, and how likely each answer is to be right.
struct Table {
    logits: Vec<Vec<f64>>,
    success: Vec<Vec<f64>>,
    learning_rate: f64,
    rng: ChaCha8Rng,
}

impl Table {
    /// A prior that knows something: the logits are correlated with success.
    fn new(seed: u64, learning_rate: f64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut normal = || (0..12).map(|_| rng.random_range(-0.5..0.5)).sum::<f64>();
        let logits: Vec<Vec<f64>> =
            (0..STATES).map(|_| (0..ACTIONS).map(|_| normal()).collect()).collect();
        let success = logits
            .iter()
            .map(|row| {
                let quality: Vec<f64> = row.iter().map(|logit| 0.5 * logit + normal()).collect();
                let best = quality.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                quality.iter().map(|quality| (1.5 * (quality - best)).exp()).collect()
            })
            .collect();
        Self { logits, success, learning_rate, rng }
    }

    fn policies(&self) -> Vec<Categorical> {
        let policy = |row: &Vec<f64>| Categorical::from_logits(row).expect("finite logits");
        self.logits.iter().map(policy).collect()
    }

    fn entropy(&self) -> f64 {
        self.policies().iter().map(Categorical::entropy).sum::<f64>() / STATES as f64
    }

    fn reward(&self) -> f64 {
        let of = |(policy, success): (&Categorical, &Vec<f64>)| policy.mean(success);
        std::iter::zip(&self.policies(), &self.success).map(of).sum::<f64>() / STATES as f64
    }

    /// One on-policy update by GRPO without the `fraction` of tokens of highest covariance.
    fn update(&mut self, fraction: f64) {
        let policies = self.policies();
        let (mut actions, mut rewards, mut log_prob) = (Vec::new(), Vec::new(), Vec::new());
        for (policy, success) in std::iter::zip(&policies, &self.success) {
            for _ in 0..GROUP {
                let mut left = self.rng.random_range(0.0..1.0);
                let drawn = policy.probs().iter().position(|probability| {
                    left -= probability;
                    left < 0.0
                });
                let action = drawn.unwrap_or(policy.mode());
                actions.push(action);
                log_prob.push(policy.log_probs()[action]);
                rewards.push(f64::from(self.rng.random_range(0.0..1.0) < success[action]));
            }
        }
        let columns = RolloutColumns {
            rewards: &rewards,
            group_sizes: &[GROUP; STATES],
            sequence_lengths: &vec![1; rewards.len()],
            ..RolloutColumns::default()
        };
        let advantage = AdvantageEstimator::Grpo.advantages(&columns).expect("finite rewards");
        let covariance = token_covariances(&advantage, &log_prob);
        let mut by_covariance: Vec<usize> = (0..actions.len()).collect();
        by_covariance.sort_by(|&a, &b| covariance[b].total_cmp(&covariance[a]));
        // A share of a token is a chance of one, so that the knob acts below 1 / tokens too.
        let dropped = fraction * actions.len() as f64 + self.rng.random_range(0.0..1.0);
        let kept = by_covariance.iter().enumerate().filter(|(rank, _)| (rank + 1) as f64 > dropped);
        for (_, &token) in kept {
            let (state, step) = (token / GROUP, self.learning_rate / GROUP as f64);
            let pull = step * advantage[token];
            policies[state].pull_back(actions[token], pull, &mut self.logits[state]);
        }
    }
}

const STEPS: usize = 1500;

/// Mean entropy over the last third, and reward at the end.
fn held(seed: u64, learning_rate: f64, target: f64) -> (f64, f64) {
    let mut table = Table::new(seed, learning_rate);
    let trajectory = EntropyTarget { start: table.entropy(), end: target, steps: STEPS as u64 / 3 };
    let settings = ThermostatSettings::new(trajectory, 0.02, 1e-4, 0.5).expect("in range");
    let mut thermostat = Thermostat::new(settings).expect("in range");
    let mut entropies = Vec::with_capacity(STEPS);
    for _ in 0..STEPS {
        table.update(thermostat.knob());
        entropies.push(table.entropy());
        thermostat.update(table.entropy()).expect("a finite entropy");
    }
    let last = &entropies[2 * STEPS / 3..];
    let mean = last.iter().sum::<f64>() / last.len() as f64;
    (mean, table.reward())
}

#[test]
fn a_policy_that_would_collapse_is_held_at_the_entropy_asked_for() {
    for (seed, learning_rate) in [(1, 0.2), (2, 0.5), (3, 0.05)] {
        let mut free = Table::new(seed, learning_rate);
        let initial_reward = free.reward();
        for _ in 0..STEPS {
            free.update(0.0);
        }
        for target in [0.7, 0.4] {
            let (entropy, reward) = held(seed, learning_rate, target);
            let run = format!("seed {seed}, rate {learning_rate}, target {target}: {entropy}");
            assert!(free.entropy() < target / 4.0, "{run}; without {}", free.entropy());
            assert!((entropy / target).ln().abs() < 0.1, "{run}");
            assert!(reward > initial_reward + 0.3, "{run}: reward {initial_reward} to {reward}");
        }
    }
}
