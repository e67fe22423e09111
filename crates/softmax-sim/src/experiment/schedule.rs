//! The schedule of a run, as configurations write it.

use super::error::{ExperimentError, check_bounds};
use crate::training::{Schedule, StepSize};
use serde::{Deserialize, Serialize};

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

impl ScheduleSettings {
    /// Checks that the schedule can be run.
    ///
    /// # Errors
    ///
    /// [`ExperimentError`], naming the setting.
    pub fn check(&self) -> Result<(), ExperimentError> {
        check_bounds([
            ("rollouts", self.rollouts as f64, 1.0),
            ("evaluate_every", self.evaluate_every as f64, 1.0),
            ("prompts", self.prompts as f64, 1.0),
            ("group_size", self.group_size as f64, 1.0),
            ("mini_batches", self.mini_batches as f64, 1.0),
            ("epochs", self.epochs as f64, 1.0),
        ])?;
        if !(self.learning_rate.is_finite() && self.learning_rate > 0.0) {
            return Err(ExperimentError::LearningRate(self.learning_rate));
        }
        Ok(())
    }
}

impl From<ScheduleSettings> for Schedule {
    fn from(settings: ScheduleSettings) -> Self {
        let ScheduleSettings {
            rollouts,
            evaluate_every,
            prompts,
            group_size,
            mini_batches,
            epochs,
            learning_rate,
            step_size,
            drop_uninformative,
        } = settings;
        let step_size = match step_size {
            StepSizeRule::TokenMean => StepSize::TokenMean(learning_rate),
            StepSizeRule::PerState => StepSize::PerState(learning_rate),
        };
        Self {
            rollouts,
            evaluate_every,
            prompts,
            group_size,
            mini_batches,
            epochs,
            step_size,
            drop_uninformative,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_those_of_the_engine() {
        let schedule = Schedule { prompts: ALL_PROMPTS, ..Schedule::tabular(0.5) };
        assert_eq!(Schedule::from(ScheduleSettings::default()), schedule);
    }
}
