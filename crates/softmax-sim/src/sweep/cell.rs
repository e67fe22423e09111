//! The run of a cell, and its figures.

use super::folder::CellResult;
use super::plan::{Cell, Plan, PlanError};
use super::world::{Tabular, World};
use crate::cart_pole::{self, Ppo, PpoError, solved_after};
use crate::training::{Method, Schedule, StepSize, train};
use rl_losses::{AdvantageEstimator, Aggregation, DifficultyThermostatSettings, PolicyLoss, Scope};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Figures of a cell by name; none where a figure has no value.
pub type Figures = BTreeMap<String, Option<f64>>;

/// A run: the engine and its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CellSettings {
    /// A method on an environment with exact evaluation.
    Training(Box<TrainingCell>),
    /// PPO on the cart and pole.
    CartPole(Ppo),
}

/// A method on an environment: `train` of the training engine, the seed being that of the
/// environment and of the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainingCell {
    /// The environment.
    pub environment: World,
    /// Loss, advantages, regularisers.
    pub method: MethodSettings,
    /// Rollouts, mini-batches, learning rate.
    pub schedule: ScheduleSettings,
}

impl Default for TrainingCell {
    fn default() -> Self {
        Self {
            environment: World::Tabular(Tabular::default()),
            method: MethodSettings::default(),
            schedule: ScheduleSettings::default(),
        }
    }
}

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

/// [`Schedule`] as written in a configuration; defaults: [`Schedule::tabular`] at 0.5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScheduleSettings {
    /// Rollout batches of the run.
    pub rollouts: usize,
    /// Rollouts between two evaluations.
    pub evaluate_every: usize,
    /// Prompts of a rollout batch; all if they are fewer.
    pub prompts: usize,
    /// Samples for each prompt.
    pub group_size: usize,
    /// Optimiser steps for one pass over a rollout batch.
    pub mini_batches: usize,
    /// Passes over a rollout batch.
    pub epochs: usize,
    /// Learning rate.
    pub learning_rate: f64,
    /// Quantity that the learning rate multiplies.
    pub step_size: StepSizeRule,
    /// True to leave out groups of equal rewards.
    pub drop_uninformative: bool,
}

/// Quantity that a learning rate multiplies: see [`StepSize`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepSizeRule {
    /// The gradient of the mean over the tokens of a mini-batch: for shared parameters.
    TokenMean,
    /// The gradient of the mean over the samples of one state: for free logits.
    PerState,
}

/// Prompts of a rollout batch unless told otherwise: more than an environment has.
const ALL_PROMPTS: usize = 1 << 32;

impl Default for ScheduleSettings {
    fn default() -> Self {
        let schedule = Schedule::tabular(0.5);
        let (learning_rate, step_size) = match schedule.step_size {
            StepSize::TokenMean(rate) => (rate, StepSizeRule::TokenMean),
            StepSize::PerState(rate) => (rate, StepSizeRule::PerState),
        };
        Self {
            rollouts: schedule.rollouts,
            evaluate_every: schedule.evaluate_every,
            prompts: schedule.prompts.min(ALL_PROMPTS),
            group_size: schedule.group_size,
            mini_batches: schedule.mini_batches,
            epochs: schedule.epochs,
            learning_rate,
            step_size,
            drop_uninformative: schedule.drop_uninformative,
        }
    }
}

/// Why settings cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// A number out of its range.
    #[error("`{field}` is {value}, expected a finite number{}", least_text(*least))]
    Range {
        /// Name of the setting.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The least it may be; `f64::MIN` if any will do.
        least: f64,
    },
    /// A learning rate that does not move.
    #[error("`learning_rate` is {0}, expected a finite number above 0")]
    LearningRate(f64),
    /// An estimator that needs a model which this engine lacks.
    #[error(
        "`advantage` is an estimator that needs a critic or a process reward model, which the environments of `training` have not"
    )]
    Advantage,
    /// A thermostat over a loss that treats no share of the tokens.
    #[error("`thermostat` moves the `fraction` of the loss over a mini-batch, which `{0}` has not")]
    Thermostat(&'static str),
    /// Settings of the cart and pole out of range.
    #[error(transparent)]
    Ppo(#[from] PpoError),
}

fn least_text(least: f64) -> String {
    if least > f64::MIN { format!(" of at least {least}") } else { String::new() }
}

impl Plan<CellSettings> {
    /// Reads a sweep over the engines of this crate.
    ///
    /// # Errors
    ///
    /// [`PlanError`], naming key or cell.
    pub fn read(text: &str) -> Result<Self, PlanError> {
        Self::parse(text, CellSettings::check)
    }
}

impl CellSettings {
    /// Checks that the settings can be run.
    ///
    /// # Errors
    ///
    /// [`CheckError`], naming the setting.
    pub fn check(&self) -> Result<(), CheckError> {
        match self {
            Self::Training(cell) => cell.check(),
            Self::CartPole(ppo) => Ok(ppo.check()?),
        }
    }
}

impl TrainingCell {
    fn check(&self) -> Result<(), CheckError> {
        let Self { environment, method, schedule } = self;
        let mut bounds = environment.bounds();
        bounds.extend([
            ("entropy_bonus", method.entropy_bonus, f64::MIN),
            ("reference_kl", method.reference_kl, f64::MIN),
            ("rollouts", schedule.rollouts as f64, 1.0),
            ("evaluate_every", schedule.evaluate_every as f64, 1.0),
            ("prompts", schedule.prompts as f64, 1.0),
            ("group_size", schedule.group_size as f64, 1.0),
            ("mini_batches", schedule.mini_batches as f64, 1.0),
            ("epochs", schedule.epochs as f64, 1.0),
        ]);
        for (field, value, least) in bounds {
            if !(value.is_finite() && value >= least) {
                return Err(CheckError::Range { field, value, least });
            }
        }
        if !(schedule.learning_rate.is_finite() && schedule.learning_rate > 0.0) {
            return Err(CheckError::LearningRate(schedule.learning_rate));
        }
        let has_share = method.loss.scope() == Some(Scope::MiniBatch);
        if method.thermostat.is_some() && !has_share {
            return Err(CheckError::Thermostat(method.loss.name()));
        }
        match method.advantage {
            AdvantageEstimator::Gae(_) | AdvantageEstimator::Prime(_) => Err(CheckError::Advantage),
            _ => Ok(()),
        }
    }

    fn method(&self) -> Method {
        let MethodSettings {
            loss,
            advantage,
            aggregation,
            entropy_bonus,
            reference_kl,
            thermostat,
        } = self.method.clone();
        Method { loss, advantage, aggregation, entropy_bonus, reference_kl, thermostat }
    }

    fn schedule(&self) -> Schedule {
        let ScheduleSettings { learning_rate, step_size, .. } = self.schedule;
        Schedule {
            rollouts: self.schedule.rollouts,
            evaluate_every: self.schedule.evaluate_every,
            prompts: self.schedule.prompts,
            group_size: self.schedule.group_size,
            mini_batches: self.schedule.mini_batches,
            epochs: self.schedule.epochs,
            step_size: match step_size {
                StepSizeRule::TokenMean => StepSize::TokenMean(learning_rate),
                StepSizeRule::PerState => StepSize::PerState(learning_rate),
            },
            drop_uninformative: self.schedule.drop_uninformative,
        }
    }

    fn run(&self, seed: u64) -> Figures {
        let environment = self.environment.draw(seed);
        let curve = train(&environment, &self.method(), &self.schedule(), seed);
        let (first, last, law) = (curve.first(), curve.last(), curve.law().ok());
        named([
            ("entropy_before", Some(first.entropy)),
            ("reward_before", Some(first.reward)),
            ("entropy", Some(last.entropy)),
            ("reward", Some(last.reward)),
            ("cool_reward", Some(last.cool_reward)),
            ("greedy_reward", Some(last.greedy_reward)),
            ("law_a", law.as_ref().map(|law| law.a)),
            ("law_b", law.as_ref().map(|law| law.b)),
            ("law_r_squared", law.as_ref().and_then(|law| law.r_squared)),
        ])
    }
}

impl Cell<CellSettings> {
    /// Runs the cell.
    pub fn compute(&self) -> CellResult {
        match &self.settings {
            CellSettings::Training(cell) => CellResult::Figures(cell.run(self.seed)),
            CellSettings::CartPole(ppo) => match cart_pole::train(ppo, self.seed) {
                Err(error) => CellResult::Failed(error.to_string()),
                Ok(curve) => {
                    let last = curve[curve.len() - 1];
                    let mean =
                        curve.iter().map(|point| point.entropy).sum::<f64>() / curve.len() as f64;
                    CellResult::Figures(named([
                        ("entropy", Some(last.entropy)),
                        ("mean_entropy", Some(mean)),
                        ("sampled_return", Some(last.sampled_return)),
                        ("greedy_return", Some(last.greedy_return)),
                        ("solved_after_steps", solved_after(&curve).map(|steps| steps as f64)),
                    ]))
                }
            },
        }
    }
}

/// Figures by name; a value that is not finite becomes none, because JSON has no such number.
fn named<const N: usize>(figures: [(&str, Option<f64>); N]) -> Figures {
    let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
    figures.into_iter().map(|(name, x)| (name.to_owned(), finite(x))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Shape, TabularSetting};

    fn message(text: &str) -> String {
        Plan::read(text).unwrap_err().to_string()
    }

    #[test]
    fn a_cell_runs_the_engine_with_its_settings() {
        let text = "seeds = [3]\n[settings.training.environment.tabular]\nprompts = 6\npositions = 2\n\
                    [settings.training.schedule]\nrollouts = 3\ngroup_size = 4\nlearning_rate = 0.7\n\
                    [settings.training.method]\nadvantage = \"rloo\"\nloss.kl-cov.fraction = 0.1";
        let plan = Plan::read(text).unwrap();
        let shape = Shape { prompts: 6, positions: 2, actions: 8 };
        let setting = TabularSetting { shape, ..TabularSetting::CONTROL };
        let method = Method {
            loss: PolicyLoss::KlCov(rl_losses::KlCov::new(0.1, 1.0).unwrap()),
            advantage: AdvantageEstimator::Rloo,
            ..Method::default()
        };
        let schedule = Schedule { rollouts: 3, group_size: 4, ..Schedule::tabular(0.7) };
        let last = *train(&setting.draw(3), &method, &schedule, 3).last();
        let CellResult::Figures(figures) = plan.cells[0].compute() else { panic!("it runs") };
        assert_eq!(figures["entropy"], Some(last.entropy));
        assert_eq!(figures["greedy_reward"], Some(last.greedy_reward));
    }

    #[test]
    fn defaults_are_those_of_the_engine() {
        let cell = TrainingCell::default();
        assert_eq!(cell.method(), Method::default());
        let schedule = Schedule { prompts: ALL_PROMPTS, ..Schedule::tabular(0.5) };
        assert_eq!(cell.schedule(), schedule);
    }

    #[test]
    fn settings_that_cannot_run_are_named() {
        for (settings, expected) in [
            (
                "[settings.training.method.thermostat]\naccuracy_edges = [0.5]\n\
                 thermostat = { target = { start = 1.0, end = 0.5, steps = 9 }, initial = 0.02, low = 1e-3, high = 0.5 }",
                "cell `seed 0`: `thermostat` moves the `fraction` of the loss over a mini-batch, which `ppo-clip` has not",
            ),
            ("[settings.trainig]", "cell `seed 0`: unknown variant `trainig`"),
            (
                "[settings.training.environment.tabular]\nactions = 1",
                "cell `seed 0`: `actions` is 1, expected",
            ),
            (
                "[settings.training.environment.size]\nvisible = 65",
                "cell `seed 0`: `features` is 64, expected",
            ),
            (
                "[settings.training.method]\nentropy_bonus = nan",
                "cell `seed 0`: `entropy_bonus` is NaN",
            ),
            (
                "[settings.training.schedule]\nlearning_rate = 0.0",
                "cell `seed 0`: `learning_rate` is 0",
            ),
            (
                "[settings.training.method]\nadvantage.gae = {}",
                "cell `seed 0`: `advantage` is an estimator",
            ),
            (
                "[settings.training.method]\nloss.kl-cov.fraction = 3",
                "cell `seed 0`: `fraction` is 3",
            ),
            ("[settings.cart-pole]\nsteps = 0", "cell `seed 0`: `steps` is 0, expected at least 1"),
            ("[settings.cart-pole]\nlearning = 0", "cell `seed 0`: unknown field `learning`"),
        ] {
            let error = message(settings);
            assert!(error.starts_with(expected), "{settings}: {error}");
        }
    }
}
