//! Worlds to train a softmax policy in, small enough that everything about it is known exactly.
//!
//! All share one shape: a set of prompts, a response of a fixed number of tokens to each, a softmax
//! policy in every state of a prompt, and a reward of 0 or 1 drawn with the product of the chosen tokens'
//! qualities. So the expected reward and the entropy of a policy are sums over states, without sampling.
//!
//! A state is a position, and its policy does not see the tokens before it, unless the environment is taken
//! [`with_states`](Environment::with_states): then an action leads to a state, at random or not. Its policy has
//! the parameters below, unless it is taken [`with_network`](Environment::with_network).
//!
//! | environment | parameters | for |
//! |---|---|---|
//! | [`TabularSetting`] | one logit per state and action | bandits (one position), tokens with credit to assign |
//! | [`SharedSetting`] | a few weights of shared features | generalisation to held-out prompts |
//! | [`SizeSetting`] | the same, over part of the features | models of growing size |
//! | [`LongTailSetting`] | one logit per state and action | one batch with few decisive tokens among filler |

mod error;
mod long_tail;
mod parameters;
mod questions;
mod shared;
mod size_family;
pub(crate) mod states;
mod tabular;

pub use error::EnvironmentError;
pub use long_tail::LongTailSetting;
pub use parameters::{Features, Parameters};
pub use questions::{Questions, Shape};
pub use shared::SharedSetting;
pub use size_family::SizeSetting;
pub use states::remembering;
pub use tabular::TabularSetting;

use crate::perceptron::Layers;
use entropy_core::StateGraph;
use ndarray_rand::rand_distr::{Distribution, StandardNormal};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::borrow::Cow;
use std::iter::once;

/// Training questions, validation questions if there are any, and the starting policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Environment {
    pub(crate) training: Questions,
    pub(crate) validation: Option<Questions>,
    pub(crate) start: Vec<f64>,
}

impl Environment {
    /// A custom environment: questions to train on, others to measure reward on if there are any, and the parameters before
    /// training.
    ///
    /// # Errors
    ///
    /// [`EnvironmentError`] if `start` does not have as many finite parameters as the questions need, or if questions of one logit
    /// per state are examined on others.
    pub fn new(
        training: Questions,
        validation: Option<Questions>,
        start: Vec<f64>,
    ) -> Result<Self, EnvironmentError> {
        let expected = training.parameter_count();
        EnvironmentError::check_table("start", &start, expected)?;
        if let Some(validation) = &validation {
            let shared = *training.parameters() != Parameters::Logits;
            EnvironmentError::check(shared, || {
                "`validation` needs features: one logit per state says nothing of other questions"
                    .into()
            })?;
            let count = validation.parameter_count();
            EnvironmentError::check(count == expected, || {
                format!(
                    "`validation` has {count} parameters, the questions to train on have {expected}"
                )
            })?;
        }
        Ok(Self { training, validation, start })
    }

    /// Questions over `count` features to train on, as many as `shape` says, and `held_out` behind them; training starts at the
    /// prior. `state` appends a state's prior logits and features, and the logits that its one right action is drawn from.
    fn log_linear(
        seed: u64,
        shape: Shape,
        held_out: usize,
        count: usize,
        state: impl Fn(&mut ChaCha8Rng, &mut Features, &mut Vec<f64>),
    ) -> Self {
        let questions = |first: usize, shape: Shape| {
            let mut features = Features {
                prior: Vec::with_capacity(shape.table()),
                values: Vec::with_capacity(shape.table() * count),
                count,
            };
            let mut quality = vec![0.0; shape.table()];
            let mut logits = Vec::with_capacity(shape.actions);
            for prompt in first..first + shape.prompts {
                let mut rng = prompt_rng(seed, prompt);
                for _ in 0..shape.positions {
                    let begin = features.prior.len();
                    logits.clear();
                    state(&mut rng, &mut features, &mut logits);
                    quality[begin + draw_action(&logits, &mut rng)] = 1.0;
                }
            }
            let questions = Questions::new(shape, quality, Parameters::Weights(features));
            questions.expect("tables of the shape, qualities of 0 and 1")
        };
        let training = questions(0, shape);
        let validation = questions(shape.prompts, Shape { prompts: held_out, ..shape });
        let mut start = vec![0.0; training.parameter_count()];
        start[0] = 1.0;
        Self { training, validation: Some(validation), start }
    }

    /// Takes the states of `graph` in place of the positions, which have to be as many: an environment drawn with a position for
    /// each state becomes one whose tokens depend on those before them.
    ///
    /// # Errors
    ///
    /// [`EnvironmentError`] as of [`Questions::with_states`].
    pub fn with_states(self, graph: &StateGraph) -> Result<Self, EnvironmentError> {
        let training = self.training.with_states(graph.clone())?;
        let validation = self.validation.map(|validation| validation.with_states(graph.clone()));
        Ok(Self { training, validation: validation.transpose()?, start: self.start })
    }

    /// Takes a network of one hidden layer over features in place of the policy's parameters. The starting logits become its
    /// prior; without features of its own, the environment gets `count` random ones for each logit.
    ///
    /// # Errors
    ///
    /// [`EnvironmentError`] if a number is 0.
    pub fn with_network(
        self,
        count: usize,
        hidden: usize,
        seed: u64,
    ) -> Result<Self, EnvironmentError> {
        // Behind the streams of the prompts and of hidden weights.
        let mut rng = prompt_rng(seed, usize::MAX - 1);
        let features = if let Some(features) = self.training.parameters().features() {
            features.clone()
        } else {
            let deviation = (count as f64).sqrt().recip();
            let values = (0..self.start.len() * count).map(|_| deviation * normal(&mut rng));
            Features { values: values.collect(), prior: self.start, count }
        };
        EnvironmentError::check_some("features", features.count)?;
        EnvironmentError::check_some("hidden units", hidden)?;
        let (layers, parameters) = Layers::orthogonal(&[features.count, hidden, 1], 0.01, &mut rng);
        let start = once(1.0).chain(parameters).collect();
        // Questions to examine on have features.
        let validation = self.validation.and_then(|validation| {
            let features = validation.parameters().features()?.clone();
            Some(validation.with_parameters(Parameters::Network(features, layers.clone())))
        });
        let training = self.training.with_parameters(Parameters::Network(features, layers));
        Ok(Self { training, validation, start })
    }

    /// The questions to train on; entropy is measured on them.
    pub fn training(&self) -> &Questions {
        &self.training
    }

    /// The parameters before training, and the reference policy of a reference KL.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// The questions that reward is measured on.
    pub fn examined(&self) -> &Questions {
        self.validation.as_ref().unwrap_or(&self.training)
    }
}

impl<'a> From<&'a Environment> for Cow<'a, Environment> {
    fn from(environment: &'a Environment) -> Self {
        Self::Borrowed(environment)
    }
}

impl From<Environment> for Cow<'_, Environment> {
    fn from(environment: Environment) -> Self {
        Self::Owned(environment)
    }
}

/// The stream of prompt `prompt` of an environment drawn from `seed`: a prompt is the same in an
/// environment of any size.
fn prompt_rng(seed: u64, prompt: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(prompt as u64);
    rng
}

fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// An action drawn from `softmax(logits)`.
fn draw_action(logits: &[f64], rng: &mut impl Rng) -> usize {
    let highest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logits.iter().map(|z| (z - highest).exp()).collect();
    let total: f64 = weights.iter().sum();
    inverse_cumulative(&weights, rng.random::<f64>() * total)
}

/// The first action whose cumulative weight exceeds `uniform`.
pub(crate) fn inverse_cumulative(weights: &[f64], uniform: f64) -> usize {
    let mut left = uniform;
    for (action, weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return action;
        }
    }
    // The weights may sum to less than the uniform by rounding: the last possible action.
    weights.iter().rposition(|weight| *weight > 0.0).expect("a policy has a possible action")
}
