//! The thermostat on real policies: sampled policy gradients collapse, and it holds them.

use entropy_core::{Categorical, token_covariances};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_losses::{
    AdvantageEstimator, Aggregation, Anchor, Base, Column, CovarianceControl, DifficultyThermostat,
    DifficultyThermostatSettings, EntropyTarget, KlCov, KlEstimator, Knob, Penalty, PolicyLoss,
    RolloutColumns, Thermostat, ThermostatSettings, TokenBatch, TokenColumns, Treatment,
};

use crate::thermostat::saturation;

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
        let mean_success = |(policy, success): (&Categorical, &Vec<f64>)| policy.mean(success);
        std::iter::zip(&self.policies(), &self.success).map(mean_success).sum::<f64>()
            / STATES as f64
    }

    /// A response to each prompt of each group: actions, log-probabilities, and GRPO's advantages.
    fn rollout(&mut self, policies: &[Categorical]) -> (Vec<usize>, Vec<f64>, Vec<f64>) {
        let (mut actions, mut rewards, mut log_prob) = (Vec::new(), Vec::new(), Vec::new());
        for (policy, success) in std::iter::zip(policies, &self.success) {
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
        (actions, log_prob, advantage)
    }

    /// One on-policy update by GRPO without the `fraction` of tokens of highest covariance.
    fn update(&mut self, fraction: f64) {
        let policies = self.policies();
        let (actions, log_prob, advantage) = self.rollout(&policies);
        let covariance = token_covariances(&advantage, &log_prob);
        let mut by_covariance: Vec<usize> = (0..actions.len()).collect();
        by_covariance.sort_by(|&a, &b| covariance[b].total_cmp(&covariance[a]));
        // A share of a token is a chance of one, so that the knob acts below 1 / tokens too.
        let dropped = fraction * actions.len() as f64 + self.rng.random_range(0.0..1.0);
        let kept = by_covariance.iter().enumerate().filter(|(rank, _)| (rank + 1) as f64 > dropped);
        for (_, &token) in kept {
            let (state, step) = (token / GROUP, self.learning_rate / GROUP as f64);
            let pull = step * advantage[token];
            policies[state].vjp_log_prob(actions[token], pull, &mut self.logits[state]);
        }
    }

    /// One update through the loss, each half of the prompts without a fraction of its own tokens.
    fn update_halves(&mut self, fractions: [f64; 2]) {
        let policies = self.policies();
        let (actions, log_prob, advantage) = self.rollout(&policies);
        let columns =
            TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &advantage };
        let lengths = vec![1; actions.len()];
        let batch = TokenBatch::new(columns, &lengths).expect("columns of one length");
        let loss = PolicyLoss::CovarianceControl(CovarianceControl {
            treatment: Treatment::Drop,
            ..CovarianceControl::default()
        });
        let halves: Vec<usize> = (0..actions.len()).map(|i| 2 * i / actions.len()).collect();
        let (rule, rng) = (Aggregation::SeqMeanTokenSum, &mut self.rng);
        let plan = loss.plan_by_bucket(&batch, &halves, &fractions, &rule, rng).expect("halves");
        let slopes = loss.evaluate(&batch, plan.part(0..batch.len())).grad_log_prob;
        for (token, slope) in slopes.iter().enumerate() {
            let state = token / GROUP;
            let pull = -self.learning_rate * slope * STATES as f64;
            policies[state].vjp_log_prob(actions[token], pull, &mut self.logits[state]);
        }
    }

    /// Several updates of one rollout batch through a loss, which may hold the policy to `reference`.
    fn epochs(&mut self, loss: &PolicyLoss, reference: &[Categorical], updates: usize) {
        let old = self.policies();
        let (actions, old_log_prob, advantage) = self.rollout(&old);
        let log_probs_of = |policies: &[Categorical]| -> Vec<f64> {
            let drawn = actions.iter().enumerate();
            drawn.map(|(token, &action)| policies[token / GROUP].log_probs()[action]).collect()
        };
        let (lengths, reference) = (vec![1; actions.len()], log_probs_of(reference));
        for _ in 0..updates {
            let policies = self.policies();
            let log_prob = log_probs_of(&policies);
            let columns = TokenColumns {
                log_prob: &log_prob,
                old_log_prob: &old_log_prob,
                advantage: &advantage,
            };
            let batch = TokenBatch::new(columns, &lengths).expect("columns of one length");
            let batch = batch.with(Column::ReferenceLogProb, &reference).expect("the same length");
            let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut self.rng).expect("columns");
            let slopes = loss.evaluate(&batch, plan.part(0..batch.len())).grad_log_prob;
            let step = self.learning_rate * STATES as f64 / updates as f64;
            for (token, slope) in slopes.iter().enumerate() {
                let state = token / GROUP;
                policies[state].vjp_log_prob(
                    actions[token],
                    -step * slope,
                    &mut self.logits[state],
                );
            }
        }
    }

    /// Mean entropy of each half of the prompts.
    fn halves(&self) -> [f64; 2] {
        let entropies: Vec<f64> = self.policies().iter().map(Categorical::entropy).collect();
        let (first, second) = entropies.split_at(STATES / 2);
        [first, second].map(|half| half.iter().sum::<f64>() / half.len() as f64)
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

/// Mean entropies of a hard and an easy half of the prompts over the last third, held by one thermostat
/// or by one for each.
fn halves_held(seed: u64, target: f64, apart: bool) -> [f64; 2] {
    let mut table = Table::new(seed, 0.2);
    for success in &mut table.success[..STATES / 2] {
        for chance in success {
            *chance *= 0.15;
        }
    }
    let trajectory = EntropyTarget { start: table.entropy(), end: target, steps: STEPS as u64 / 3 };
    let thermostat = ThermostatSettings::new(trajectory, 0.05, 1e-3, 0.6).expect("in range");
    let settings = DifficultyThermostatSettings {
        accuracy_edges: if apart { vec![0.5] } else { Vec::new() },
        thermostat,
    };
    let mut thermostats = DifficultyThermostat::new(&settings).expect("in range");
    let mut sums = [0.0; 2];
    for step in 0..STEPS {
        // Accuracies on both sides of the edge, if there is one.
        let fraction =
            |accuracy: f64| thermostats.thermostats()[thermostats.bucket(accuracy)].knob();
        table.update_halves([0.2, 0.8].map(fraction));
        let [hard, easy] = table.halves();
        let measured =
            if apart { vec![Some(hard), Some(easy)] } else { vec![Some(table.entropy())] };
        thermostats.update(&measured).expect("finite entropies");
        if step >= 2 * STEPS / 3 {
            sums = [sums[0] + hard, sums[1] + easy];
        }
    }
    sums.map(|sum| sum / (STEPS / 3) as f64)
}

#[test]
fn one_thermostat_for_each_difficulty_holds_both_where_one_for_all_holds_their_mean() {
    let target = 0.8;
    for seed in [1, 2] {
        let relative = |entropy: f64| (entropy / target).ln();
        let [hard, easy] = halves_held(seed, target, false);
        let run = format!("seed {seed}: together {hard} and {easy}");
        assert!(relative(0.5 * (hard + easy)).abs() < 0.1, "{run}");
        assert!(relative(hard) > 0.4 && relative(easy) < -0.8, "{run}");
        for entropy in halves_held(seed, target, true) {
            assert!(relative(entropy).abs() < 0.05, "seed {seed}: apart {entropy}");
        }
    }
}

/// A method, the knob that is moved, and where it starts, ends below and above.
type Actuator = (PolicyLoss, Knob, [f64; 3]);

/// KL-Cov as published, by its fraction.
fn old_anchor() -> Actuator {
    (PolicyLoss::KlCov(KlCov::default()), Knob::Fraction, [0.05, 3e-3, 0.5])
}

/// KL-Cov's selection with a squared penalty towards the reference, by its coefficient.
fn reference_anchor() -> Actuator {
    let penalty =
        Penalty { divergence: KlEstimator::K2, coefficient: 0.1, anchor: Anchor::Reference };
    let loss = CovarianceControl {
        fraction: 0.2,
        base: Base::Unclipped,
        treatment: Treatment::Penalise(penalty),
        ..CovarianceControl::default()
    };
    (PolicyLoss::CovarianceControl(loss), Knob::Coefficient, [0.1, 1e-4, 10.0])
}

/// Mean and largest `ln(H / target)` over the last third, and how often the knob was at its bound.
fn steered(actuator: Actuator, rate: f64, updates: usize, target: f64) -> (f64, f64, usize) {
    const ROLLOUTS: usize = 600;
    let (loss, knob, [initial, low, high]) = actuator;
    let mut table = Table::new(1, rate);
    let reference = table.policies();
    let steps = ROLLOUTS as u64 / 3;
    let trajectory = EntropyTarget { start: table.entropy(), end: target, steps };
    let settings = ThermostatSettings::new(trajectory, initial, low, high).expect("in range");
    let mut thermostat = Thermostat::new(settings).expect("in range");
    let (mut sum, mut largest, mut saturated) = (0.0, 0.0f64, 0);
    for rollout in 0..ROLLOUTS {
        let loss = knob.set(&loss, thermostat.knob()).expect("within its bounds");
        table.epochs(&loss, &reference, updates);
        thermostat.update(table.entropy()).expect("a finite entropy");
        if rollout >= 2 * ROLLOUTS / 3 {
            let error = (table.entropy() / target).ln();
            sum += error;
            largest = largest.max(error.abs());
            saturated += usize::from(saturation(&thermostat) == "high");
        }
    }
    (sum / (ROLLOUTS / 3) as f64, largest, saturated)
}

/// KL-Cov's penalty is a brake: it undoes moves and makes none, so an entropy once lost stays lost, whatever
/// its fraction. A penalty anchored where the entropy was high pulls it back, and holds it.
#[test]
fn the_fraction_of_kl_cov_slows_a_fall_and_a_penalty_to_the_reference_holds_the_entropy() {
    for (rate, updates) in [(0.2, 8), (1.0, 4)] {
        for target in [0.4, 0.8] {
            let run = format!("rate {rate}, {updates} updates, target {target}");
            let (mean, _, saturated) = steered(old_anchor(), rate, updates, target);
            assert!(mean < -0.7 && saturated == 200, "{run}: KL-Cov {mean}, {saturated}");
            let (mean, largest, saturated) = steered(reference_anchor(), rate, updates, target);
            assert!(mean.abs() < 0.02 && largest < 0.07, "{run}: reference {mean}, {largest}");
            assert_eq!(saturated, 0, "{run}");
        }
    }
}
