//! A run: rollouts, updates, evaluations.

use super::{
    controls::{Controls, divergence},
    critic::judge,
    curve::{Curve, CurvePoint},
    custom_advantage::CustomAdvantage,
    entropy_split::entropy_split,
    evaluation::{evaluate, greedy_reward},
    method::Method,
    reward_model::log_ratios,
    rollout::{Rollout, rollout_key},
    rows::Rows,
    schedule::{RatioTo, Schedule},
};
use crate::environment::Environment;
use entropy_core::SequenceEntropyChange;
use rand::seq::index;
use rand_chacha::ChaCha8Rng;
use rl_losses::{AdvantageEstimator, CustomLoss, LossSums, RolloutColumns};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::convert::Infallible;

/// Measurements of one rollout batch and its updates.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RolloutReport {
    /// Number of the rollout, from 0.
    pub rollout: usize,
    /// Mean reward of the responses sampled.
    pub mean_reward: f64,
    /// Exact mean entropy of a token of the rollout's prompts, under the policy that sampled, in nats.
    pub entropy: f64,
    /// Counts and sums of the loss over all updates of the rollout: fractions clipped and selected.
    pub sums: LossSums,
    /// First-order change of the mean entropy of a token on all training questions, if the trainer measures it.
    pub entropy_change: Option<SequenceEntropyChange>,
}

/// Trains a policy, one rollout batch a step.
#[derive(Debug, Clone)]
pub struct Trainer<'a> {
    /// How it trains; may be changed between steps.
    pub method: Method,
    pub(super) environment: Cow<'a, Environment>,
    pub(super) schedule: Schedule,
    seed: u64,
    parameters: Vec<f64>,
    /// Log-probabilities of the policy before training, `[all prompts, states, actions]`.
    pub(super) reference: Vec<f64>,
    /// Those of a whole rollout.
    pub(super) sequence_lengths: Vec<usize>,
    pub(super) rollout: Rollout,
    old_policy: Rows,
    controls: Controls,
    pub(super) custom_loss: Option<CustomLoss>,
    custom_advantage: Option<CustomAdvantage>,
    /// Parameters of PRIME's reward model, from the first rollout with it on; it starts as its reference.
    reward_model: Option<Vec<f64>>,
    /// Values of GAE's critic, `[prompts, states]`.
    critic: Vec<f64>,
    /// Parameters before the last rollouts, the oldest first: as many as the policy that samples is old.
    past: VecDeque<Vec<f64>>,
    splits_entropy: bool,
    done: usize,
}

impl<'a> Trainer<'a> {
    /// A run from the environment's starting policy; the environment may be lent or given.
    ///
    /// # Panics
    ///
    /// If the schedule has no samples, mini-batches or epochs, or a setting of the method's controllers is out of its range.
    pub fn new(
        environment: impl Into<Cow<'a, Environment>>,
        method: Method,
        schedule: Schedule,
        seed: u64,
    ) -> Self {
        let environment = environment.into();
        let Schedule { group_size, mini_batches, epochs, evaluate_every, .. } = schedule;
        let counts = [group_size, mini_batches, epochs, evaluate_every];
        assert!(counts.iter().all(|count| *count > 0), "counts of a schedule are above 0");
        let shape = environment.training.shape();
        let all: Vec<usize> = (0..shape.prompts).collect();
        let start = Rows::of(&environment.training, &environment.start, &all);
        let prompts = schedule.prompts.min(shape.prompts);
        Self {
            controls: Controls::new(&method),
            method,
            schedule,
            seed,
            parameters: environment.start.clone(),
            reward_model: None,
            critic: vec![0.0; start.entropy().len()],
            environment,
            reference: start.log_probs().to_vec(),
            sequence_lengths: vec![shape.positions; prompts * group_size],
            rollout: Rollout::default(),
            old_policy: Rows::default(),
            custom_loss: None,
            custom_advantage: None,
            past: VecDeque::new(),
            splits_entropy: false,
            done: 0,
        }
    }

    /// Takes a custom loss in place of the formula of the method's, which still chooses the tokens.
    #[must_use]
    pub fn with_loss(self, loss: CustomLoss) -> Self {
        Self { custom_loss: Some(loss), ..self }
    }

    /// Takes custom advantages in place of the method's estimator.
    #[must_use]
    pub fn with_advantage(self, advantage: CustomAdvantage) -> Self {
        Self { custom_advantage: Some(advantage), ..self }
    }

    /// Measures and splits the change of the entropy by each rollout, at the cost of an evaluation.
    #[must_use]
    pub fn with_entropy_split(self) -> Self {
        Self { splits_entropy: true, ..self }
    }

    /// The environment that it trains in.
    pub fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The policy's parameters.
    pub fn parameters(&self) -> &[f64] {
        &self.parameters
    }

    /// The last rollout batch; the groups that were left out are not in it.
    pub fn rollout(&self) -> &Rollout {
        &self.rollout
    }

    /// Exact figures of the current policy.
    pub fn evaluate(&self) -> CurvePoint {
        evaluate(&self.environment, &self.parameters, self.done)
    }

    /// Samples one rollout batch and trains on it; none when the schedule is done.
    pub fn step(&mut self) -> Option<RolloutReport> {
        if self.done == self.schedule.rollouts {
            return None;
        }
        let before = self.parameters.clone();
        let (mean_reward, entropy) = self.sample();
        // The last stream is no prompt's.
        let mut rng = rollout_key(self.seed, self.done);
        rng.set_stream(u64::MAX);
        let sums = self.train(&mut rng);
        let entropy_change = self
            .splits_entropy
            .then(|| entropy_split(&self.environment.training, &before, &self.parameters));
        self.past.push_back(before);
        if self.past.len() > self.schedule.staleness {
            self.past.pop_front();
        }
        self.controls.update(entropy, self.sequence_lengths.len());
        let report =
            RolloutReport { rollout: self.done, mean_reward, entropy, sums, entropy_change };
        self.done += 1;
        Some(report)
    }

    /// Trains to the end of the schedule; returns the curve of the evaluations from here on.
    ///
    /// `after_each` sees what each rollout measured and may change the method of the next.
    pub fn run(&mut self, mut after_each: impl FnMut(&mut Method, &RolloutReport)) -> Curve {
        let Ok(curve) = self.try_run(|method, report| -> Result<(), Infallible> {
            after_each(method, report);
            Ok(())
        });
        curve
    }

    /// Trains like [`run`](Self::run), until an error of `after_each`.
    ///
    /// # Errors
    ///
    /// The error of `after_each`.
    pub fn try_run<E>(
        &mut self,
        mut after_each: impl FnMut(&mut Method, &RolloutReport) -> Result<(), E>,
    ) -> Result<Curve, E> {
        let mut points = vec![self.evaluate()];
        while let Some(report) = self.step() {
            after_each(&mut self.method, &report)?;
            if self.schedule.evaluates_after(self.done) {
                points.push(self.evaluate());
            }
        }
        Ok(Curve { points })
    }

    /// Samples the rollout; returns mean reward and entropy.
    fn sample(&mut self) -> (f64, f64) {
        let questions = &self.environment.training;
        let shape = questions.shape();
        let key = rollout_key(self.seed, self.done);
        let mut order = key.clone();
        order.set_stream(u64::MAX - 1);
        let count = self.schedule.prompts.min(shape.prompts);
        self.rollout.prompts.clear();
        self.rollout.prompts.extend(index::sample(&mut order, shape.prompts, count));
        let sampling = self.past.front().unwrap_or(&self.parameters);
        self.old_policy = Rows::of(questions, sampling, &self.rollout.prompts);
        let group_size = self.schedule.group_size;
        self.rollout.sample(questions, &self.old_policy, group_size, &key);
        if !self.past.is_empty() && self.schedule.ratio_to == RatioTo::Old {
            let now = Rows::of(questions, &self.parameters, &self.rollout.prompts);
            self.rollout.take_old(&now);
        }
        let process_log_ratio = self.process_log_ratio();
        let squared_scores = self.squared_scores();
        let (questions, reward_kl) = (&self.environment.training, self.method.reward_kl);
        let penalised = (reward_kl > 0.0)
            .then(|| self.rollout.penalised_rewards(questions, &self.reference, reward_kl));
        let values = self.values(penalised.as_deref());
        let rewards = &self.rollout.rewards;
        let mean_reward = rewards.iter().sum::<f64>() / rewards.len() as f64;
        self.rollout.advantage = if let Some(custom) = &self.custom_advantage {
            custom.of_tokens(rewards, group_size, shape.positions)
        } else {
            let sums: Option<Vec<f64>> = penalised.as_ref().map(|rewards| {
                rewards.chunks_exact(shape.positions).map(|tokens| tokens.iter().sum()).collect()
            });
            let columns = RolloutColumns {
                rewards: sums.as_ref().unwrap_or(rewards),
                token_rewards: penalised.as_deref(),
                group_sizes: &vec![group_size; count],
                sequence_lengths: &self.sequence_lengths,
                greedy_rewards: Some(&self.greedy_rewards()),
                process_log_ratio: process_log_ratio.as_deref(),
                squared_scores: squared_scores.as_deref(),
                values: values.as_deref(),
                ..RolloutColumns::default()
            };
            let advantages = self.method.advantage.advantages(&columns);
            advantages.expect("columns for every estimator")
        };
        if let Some(difficulty) = &mut self.controls.difficulty {
            difficulty.measure(&self.rollout.rewards, group_size, &self.rollout.old_entropy);
        }
        let (questions, reference) = (&self.environment.training, &self.reference);
        let (prompts, policy) = (&self.rollout.prompts, &self.old_policy);
        self.controls.measure_divergence(|| divergence(questions, prompts, policy, reference));
        if self.schedule.drop_uninformative {
            self.rollout.retain(group_size, shape.positions);
        }
        (mean_reward, self.old_policy.mean_entropy(&self.environment.training))
    }

    /// Log-ratio of each token of the rollout under PRIME's reward model, which learns from the rollout first; none of another
    /// estimator.
    fn process_log_ratio(&mut self) -> Option<Vec<f64>> {
        let AdvantageEstimator::Prime(prime) = self.method.advantage else { return None };
        let rates = (prime.beta, self.schedule.factor(self.rollout.actions.len()));
        let (questions, reference) = (&self.environment.training, &self.reference);
        let model = self.reward_model.get_or_insert_with(|| self.environment.start.clone());
        Some(log_ratios(model, questions, &self.rollout, reference, rates))
    }

    /// Squared slope of each token's log-probability in the logits, `[tokens]`; none of another estimator than the one that reads it.
    fn squared_scores(&self) -> Option<Vec<f64>> {
        if self.method.advantage != AdvantageEstimator::OptimalTokenBaseline {
            return None;
        }
        let questions = &self.environment.training;
        let (probs, actions) = (self.old_policy.probs(), questions.shape().actions);
        let places = self.rollout.tokens().places(questions.states().states());
        let scores = places.map(|(state, action)| {
            let state = &probs[state * actions..(state + 1) * actions];
            let squares: f64 = state.iter().map(|prob| prob * prob).sum();
            1.0 - 2.0 * state[action] + squares
        });
        Some(scores.collect())
    }

    /// The critic's value before each token of the rollout, `[tokens]`, from which it learns afterwards; none of another estimator
    /// than GAE.
    fn values(&mut self, token_rewards: Option<&[f64]>) -> Option<Vec<f64>> {
        let AdvantageEstimator::Gae(gae) = self.method.advantage else { return None };
        let (questions, rate) = (&self.environment.training, self.schedule.critic_rate);
        Some(judge(&mut self.critic, questions, &self.rollout, token_rewards, (gae, rate)))
    }

    /// Expected reward of the greedy response to the prompt of each sample, `[samples]`.
    fn greedy_rewards(&self) -> Vec<f64> {
        let questions = &self.environment.training;
        let row = questions.row();
        std::iter::zip(&self.rollout.prompts, self.old_policy.log_probs().chunks_exact(row))
            .map(|(&prompt, log_probs)| greedy_reward(questions, prompt, log_probs))
            .flat_map(|reward| std::iter::repeat_n(reward, self.schedule.group_size))
            .collect()
    }

    fn train(&mut self, rng: &mut ChaCha8Rng) -> LossSums {
        let mut sums = LossSums::default();
        let mut method = self.method.after(self.done as f64 / self.schedule.rollouts as f64);
        self.controls.set(&mut method);
        let group_size = self.schedule.group_size;
        let by_difficulty = self.controls.difficulty.as_ref().and_then(|difficulty| {
            let fractions = difficulty.fractions(&method.loss)?;
            let thermostats = &difficulty.thermostats;
            Some((thermostats.buckets(&self.rollout.rewards, group_size), fractions))
        });
        let (prompts, parts) = (self.rollout.prompts.len(), self.schedule.mini_batches);
        let mut parameters = std::mem::take(&mut self.parameters);
        for _ in 0..self.schedule.epochs {
            for part in 0..parts {
                let slots = part * prompts / parts..(part + 1) * prompts / parts;
                if !slots.is_empty() {
                    let by_difficulty = by_difficulty.as_ref();
                    sums += self.update(&method, &slots, by_difficulty, &mut parameters, rng);
                }
            }
        }
        self.parameters = parameters;
        sums
    }
}

/// A whole run: the curve of its evaluations.
pub fn train(environment: &Environment, method: &Method, schedule: &Schedule, seed: u64) -> Curve {
    Trainer::new(environment, method.clone(), *schedule, seed).run(|_, _| {})
}
