//! The run of a cell, and its figures.

use super::folder::CellResult;
use super::plan::{Cell, Plan, PlanError};
use crate::cart_pole::{self, Ppo, PpoError, solved_after};
use crate::experiment::{Experiment, ExperimentError};
use crate::training::train;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use thiserror::Error;

/// Figures of a cell by name; none where a figure has no value.
pub type Figures = BTreeMap<String, Option<f64>>;

/// A run: the engine and its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CellSettings {
    /// A method on an environment with exact evaluation; the seed is that of the environment and of the run.
    Training(Box<Experiment>),
    /// PPO on the cart and pole.
    CartPole(Ppo),
}

/// Why settings cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum CheckError {
    /// Those of a method on an environment.
    #[error(transparent)]
    Experiment(#[from] ExperimentError),
    /// Those of the cart and pole.
    #[error(transparent)]
    Ppo(#[from] PpoError),
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
            Self::Training(experiment) => Ok(experiment.check()?),
            Self::CartPole(ppo) => Ok(ppo.check()?),
        }
    }
}

fn figures_of(experiment: &Experiment, seed: u64) -> Figures {
    let Experiment { method, schedule, .. } = experiment;
    let curve = train(&experiment.draw(seed), method, schedule, seed);
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

impl Cell<CellSettings> {
    /// Runs the cell.
    pub fn compute(&self) -> CellResult {
        match &self.settings {
            CellSettings::Training(experiment) => {
                CellResult::Figures(figures_of(experiment, self.seed))
            }
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
    use crate::environment::TabularSetting;
    use crate::training::{Method, Schedule};
    use rl_losses::{AdvantageEstimator, PolicyLoss};

    fn message(text: &str) -> String {
        Plan::read(text).unwrap_err().to_string()
    }

    #[test]
    fn a_cell_runs_the_engine_with_its_settings() {
        let text = "seeds = [3]\n[settings.training.environment.tabular]\nprompts = 6\npositions = 2\n\
                    [settings.training.schedule]\nrollouts = 3\ngroup_size = 4\nlearning_rate = 0.7\n\
                    [settings.training.method]\nadvantage = \"rloo\"\nloss.kl-cov.fraction = 0.1";
        let plan = Plan::read(text).unwrap();
        let setting = TabularSetting { prompts: 6, positions: 2, ..TabularSetting::CONTROL };
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
    fn settings_that_cannot_run_are_named() {
        for (settings, expected) in [
            (
                "[settings.training.method.thermostat]\naccuracy_edges = [0.5]\n\
                 thermostat = { target = { start = 1.0, end = 0.5, steps = 9 }, initial = 0.02, low = 1e-3, high = 0.5 }",
                "cell `seed 0`: `thermostat` of `ppo-clip`: the policy loss has no `fraction` to move",
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
                "[settings.training.states]\nmemory = 7",
                "cell `seed 0`: `memory` is 7: 2396745 states of a prompt, expected at most 16384",
            ),
            (
                "[settings.training.states]\nnoise = 1.5",
                "cell `seed 0`: `noise` is 1.5, expected 0",
            ),
            (
                "[settings.training.schedule]\ntrust_region.kl = 0.0",
                "cell `seed 0`: `kl` is 0, expected",
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
