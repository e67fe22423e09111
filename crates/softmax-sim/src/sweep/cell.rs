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
