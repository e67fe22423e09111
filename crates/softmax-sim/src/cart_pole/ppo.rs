//! Proximal policy optimisation on the cart and pole.

use super::evaluation::{Choice, mean_return};
use super::learner::{Diverged, Learner, Step};
use super::rollout::Cohort;
use super::stream::{Purpose, stream};
use crate::experiment::error::check_range;
use crate::settings::settings;
use rand::seq::SliceRandom;
use rl_losses::{Gae, LossSums, PolicyLoss, PpoClip};
use serde::{Deserialize, Serialize};
use thiserror::Error;

settings! {
    /// Settings of a training run.
    ///
    /// The defaults are those usual with this benchmark: 8 environments, 128 steps of each per
    /// iteration, 4 epochs of 4 mini-batches, `γ = 0.99`, `λ = 0.95`.
    pub struct Ppo {
        /// Loss of the actions, with its own settings.
        pub policy_loss: PolicyLoss = PolicyLoss::PpoClip(PpoClip::DEFAULT);
        /// Coefficient of the entropy bonus, reward per nat.
        pub entropy_coefficient: f64 = 0.0, check_finite;
        /// Learning rate of both networks.
        pub learning_rate: f64 = 1e-3, check_positive;
        /// Environments stepped side by side.
        pub environments: usize = 8, check_count;
        /// Steps of each environment between two rounds of learning.
        pub steps: usize = 128, check_count;
        /// Passes over the steps in one round of learning.
        pub epochs: usize = 4, check_count;
        /// Optimiser steps in one pass.
        pub mini_batches: usize = 4, check_count;
        /// Factor `γ` on what is earned one step later.
        pub discount: f64 = 0.99, check_share;
        /// `λ` of generalised advantage estimation.
        pub gae_lambda: f64 = 0.95, check_share;
        /// Rounds of collecting and learning.
        pub iterations: usize = 100;
        /// Iterations between two evaluations.
        pub evaluate_every: usize = 4, check_count;
        /// Episodes of an evaluation, for each of the two ways to choose.
        pub evaluation_episodes: usize = 32, check_count;
    } also |ppo| {
        let fits = ppo.mini_batches <= ppo.steps_per_iteration();
        let expected = "at most the steps of a round";
        check_range("mini_batches", ppo.mini_batches as f64, expected, fits)
    }
}

/// Why a run ended early: a setting with which there is nothing to run, or networks that stopped being numbers.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct PpoError(String);

/// A point of the learning curve: a policy and the steps it was learned from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Steps of all environments that the policy has learned from.
    pub environment_steps: usize,
    /// Exact entropy of the policy in the states it came to next, mean, in nats: 0 to ln 2.
    pub entropy: f64,
    /// Mean return with actions drawn from the policy, 1 to 500.
    pub sampled_return: f64,
    /// Mean return with the most probable actions, 1 to 500.
    pub greedy_return: f64,
    /// Fraction of the steps that Clip-Cov dropped or KL-Cov penalised since the last point.
    pub selected_fraction: f64,
    /// Fraction of the steps where the clipped surrogate was flat since the last point.
    pub clip_fraction: f64,
}

/// Mean return at which the benchmark counts as solved.
pub const SOLVED_RETURN: f64 = 475.0;

/// Environment steps after which the sampled return of a learning curve first reached
/// [`SOLVED_RETURN`]; none if it never did.
pub fn solved_after(curve: &[Point]) -> Option<usize> {
    let solved = |point: &&Point| point.sampled_return >= SOLVED_RETURN;
    curve.iter().find(solved).map(|point| point.environment_steps)
}

/// Trains from scratch and returns the points of the learning curve, the first before any learning.
///
/// The result depends on the two arguments alone: each purpose has its own stream of random numbers.
///
/// # Errors
///
/// [`PpoError`] for settings out of range, or if the networks stop putting out numbers.
pub fn train(settings: &Ppo, seed: u64) -> Result<Vec<Point>, PpoError> {
    settings.check().map_err(|error| PpoError(error.to_string()))?;
    let gae = Gae { discount: settings.discount, lambda: settings.gae_lambda, whiten: true };
    let (mut learner, mut cohort) = (Learner::new(seed), Cohort::new(seed, settings.environments));
    // Loss sums are those since the last point.
    let (mut curve, mut sums) = (Vec::new(), LossSums::default());
    for iteration in 0..=settings.iterations {
        let environment_steps = iteration * settings.steps_per_iteration();
        let diverged = |reason: Diverged| {
            PpoError(format!("after {environment_steps} environment steps {reason}"))
        };
        let (steps, entropy) = cohort.collect(&learner, settings.steps, gae).map_err(diverged)?;
        let is_last = iteration == settings.iterations;
        if is_last || iteration.is_multiple_of(settings.evaluate_every) {
            let evaluate = |choice| {
                mean_return(&learner, choice, seed, settings.evaluation_episodes).map_err(diverged)
            };
            let since = std::mem::take(&mut sums);
            let any = since.tokens > 0;
            curve.push(Point {
                environment_steps,
                entropy,
                sampled_return: evaluate(Choice::Sampled)?,
                greedy_return: evaluate(Choice::Greedy)?,
                selected_fraction: if any { since.selected_fraction() } else { 0.0 },
                clip_fraction: if any { since.clip_fraction() } else { 0.0 },
            });
        }
        if !is_last {
            settings.learn(seed, iteration, &steps, (&mut learner, &mut sums)).map_err(diverged)?;
        }
    }
    Ok(curve)
}

impl Ppo {
    fn steps_per_iteration(&self) -> usize {
        self.environments * self.steps
    }

    fn learn(
        &self,
        seed: u64,
        iteration: usize,
        steps: &[Step],
        (learner, sums): (&mut Learner, &mut LossSums),
    ) -> Result<(), Diverged> {
        let mut order: Vec<usize> = (0..steps.len()).collect();
        let mut shuffle = stream(seed, Purpose::Order, iteration as u64);
        for epoch in 0..self.epochs {
            order.shuffle(&mut shuffle);
            for part in 0..self.mini_batches {
                let edge = |part: usize| part * order.len() / self.mini_batches;
                let picked = order[edge(part)..edge(part + 1)].iter();
                let batch: Vec<Step> = picked.map(|&step| steps[step]).collect();
                let update = (iteration * self.epochs + epoch) * self.mini_batches + part;
                let mut rng = stream(seed, Purpose::Selection, update as u64);
                let objective = (&self.policy_loss, self.entropy_coefficient);
                *sums += learner.update(&batch, objective, self.learning_rate, &mut rng)?;
            }
        }
        Ok(())
    }
}
