//! The run of a cell, and its figures.

use crate::cart_pole::{self, Ppo, solved_after};
use crate::experiment::{Experiment, ExperimentError};
use crate::training::train;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Figures of a cell by name; none where a figure has no value.
pub type Figures = BTreeMap<String, Option<f64>>;

/// Result of a cell: figures, or the reason of a failure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CellResult {
    /// Its figures.
    Figures(Figures),
    /// Why it has none. The same settings would fail again, so it is not tried again.
    Failed(String),
}

impl CellResult {
    /// Its figures, if it has some, or the reason of its failure.
    pub(super) fn parts(&self) -> (Option<&Figures>, &str) {
        match self {
            Self::Figures(figures) => (Some(figures), ""),
            Self::Failed(reason) => (None, reason),
        }
    }
}

/// A run: the engine and its settings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum CellSettings {
    /// A method on an environment with exact evaluation; the seed is that of the environment and of the run.
    Training(Box<Experiment>),
    /// PPO on the cart and pole.
    CartPole(Ppo),
}

impl CellSettings {
    pub(super) fn check(&self) -> Result<(), ExperimentError> {
        match self {
            Self::Training(experiment) => experiment.check(),
            Self::CartPole(ppo) => ppo.check(),
        }
    }

    pub(super) fn compute(&self, seed: u64) -> CellResult {
        match self {
            Self::Training(experiment) => CellResult::Figures(figures_of(experiment, seed)),
            Self::CartPole(ppo) => match cart_pole::train(ppo, seed) {
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

/// Figures by name; a value that is not finite becomes none, because JSON has no such number.
fn named<const N: usize>(figures: [(&str, Option<f64>); N]) -> Figures {
    let finite = |x: Option<f64>| x.filter(|x| x.is_finite());
    figures.into_iter().map(|(name, x)| (name.to_owned(), finite(x))).collect()
}
