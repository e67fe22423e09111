//! Proximal policy optimisation on the cart and pole.

use super::evaluation::{Choice, mean_return};
use super::learner::{Diverged, Learner, Objective, Step};
use super::rollout::Cohort;
use super::stream::{Purpose, stream};
use crate::experiment::error::{ExperimentError, check_range};
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

/// Why a run ended early.
#[derive(Debug, Clone, PartialEq, Error)]
pub enum PpoError {
    /// A setting with which there is nothing to run.
    #[error(transparent)]
    Setting(#[from] ExperimentError),
    /// The networks stopped being numbers.
    #[error("after {environment_steps} environment steps {reason}")]
    Diverged {
        /// Steps of all environments until then.
        environment_steps: usize,
        /// Cause of the divergence.
        reason: Diverged,
    },
}

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

impl Ppo {
    fn steps_per_iteration(&self) -> usize {
        self.environments * self.steps
    }
}

/// Trains from scratch and returns the points of the learning curve, the first before any learning.
///
/// The result depends on the two arguments alone: each purpose has its own stream of random numbers.
///
/// # Errors
///
/// [`PpoError`] for settings out of range, or if the networks stop putting out numbers.
pub fn train(settings: &Ppo, seed: u64) -> Result<Vec<Point>, PpoError> {
    settings.check()?;
    let mut run = Run {
        settings,
        seed,
        learner: Learner::new(seed),
        cohort: Cohort::new(seed, settings.environments),
        updates: 0,
        sums: LossSums::default(),
    };
    let mut curve = Vec::new();
    for iteration in 0..=settings.iterations {
        run.iterate(iteration, &mut curve).map_err(|reason| PpoError::Diverged {
            environment_steps: iteration * settings.steps_per_iteration(),
            reason,
        })?;
    }
    Ok(curve)
}

struct Run<'a> {
    settings: &'a Ppo,
    seed: u64,
    learner: Learner,
    cohort: Cohort,
    updates: u64,
    /// Loss sums over the updates since the last point.
    sums: LossSums,
}

impl Run<'_> {
    /// Collects a rollout, records a point if one is due, and learns unless this is the last iteration.
    fn iterate(&mut self, iteration: usize, curve: &mut Vec<Point>) -> Result<(), Diverged> {
        let settings = self.settings;
        let gae = Gae { discount: settings.discount, lambda: settings.gae_lambda, whiten: true };
        let (steps, entropy) = self.cohort.collect(&self.learner, settings.steps, gae)?;
        let is_last = iteration == settings.iterations;
        if is_last || iteration.is_multiple_of(settings.evaluate_every) {
            curve.push(self.point(iteration * settings.steps_per_iteration(), entropy)?);
            self.sums = LossSums::default();
        }
        if !is_last {
            self.learn(iteration, &steps)?;
        }
        Ok(())
    }

    fn learn(&mut self, iteration: usize, steps: &[Step]) -> Result<(), Diverged> {
        let settings = self.settings;
        let Ppo { policy_loss, entropy_coefficient, .. } = *settings;
        let objective = Objective { policy_loss, entropy_coefficient };
        let mut order: Vec<usize> = (0..steps.len()).collect();
        let mut shuffle = stream(self.seed, Purpose::Order, iteration as u64);
        for _ in 0..settings.epochs {
            order.shuffle(&mut shuffle);
            for part in 0..settings.mini_batches {
                let edge = |part: usize| part * order.len() / settings.mini_batches;
                let picked = order[edge(part)..edge(part + 1)].iter();
                let batch: Vec<Step> = picked.map(|&step| steps[step]).collect();
                let mut rng = stream(self.seed, Purpose::Selection, self.updates);
                let rate = settings.learning_rate;
                self.sums += self.learner.update(&batch, &objective, rate, &mut rng)?;
                self.updates += 1;
            }
        }
        Ok(())
    }

    fn point(&self, environment_steps: usize, entropy: f64) -> Result<Point, Diverged> {
        let episodes = self.settings.evaluation_episodes;
        let evaluate = |choice| mean_return(&self.learner, choice, self.seed, episodes);
        let any = self.sums.tokens > 0;
        Ok(Point {
            environment_steps,
            entropy,
            sampled_return: evaluate(Choice::Sampled)?,
            greedy_return: evaluate(Choice::Greedy)?,
            selected_fraction: if any { self.sums.selected_fraction() } else { 0.0 },
            clip_fraction: if any { self.sums.clip_fraction() } else { 0.0 },
        })
    }
}
