//! A training run as configurations and Python write it: environment, method and schedule by the names of their keys.

pub(crate) mod error;
mod world;

pub use error::ExperimentError;
pub use world::World;

use crate::environment::states::count;
use crate::environment::{Environment, remembering};
use crate::settings::settings;
use crate::training::{Method, Schedule};
use error::check_share;
use serde::{Deserialize, Serialize};

/// A method on an environment, for [`train`](crate::training::train).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Experiment {
    /// The environment.
    pub environment: World,
    /// Memory of the states; by default a state is a position.
    pub states: States,
    /// A network in place of the environment's own parameters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub network: Option<Network>,
    /// Loss, advantages, regularisers.
    pub method: Method,
    /// Rollouts, mini-batches, learning rate.
    pub schedule: Schedule,
}

impl Experiment {
    /// Draws the environment number `seed`, with its states and policy.
    ///
    /// # Panics
    ///
    /// If the settings do not pass [`check`](Self::check).
    pub fn draw(&self, seed: u64) -> Environment {
        let (shape, States { memory, noise }) = (self.environment.shape(), self.states);
        let mut environment = if memory == 0 {
            self.environment.draw(seed)
        } else {
            let graph = remembering(shape.positions, shape.actions, memory, noise);
            let environment = self.environment.with_positions(graph.states()).draw(seed);
            environment.with_states(&graph).expect("a position for each state")
        };
        if let Some(Network { hidden, features }) = self.network {
            let network = environment.with_network(features, hidden, seed);
            environment = network.expect("at least one unit and feature");
        }
        environment
    }

    /// Checks that the settings can be run.
    ///
    /// # Errors
    ///
    /// [`ExperimentError`], naming the setting.
    pub fn check(&self) -> Result<(), ExperimentError> {
        self.environment.check()?;
        let shape = self.environment.shape();
        self.states.check(shape.positions, shape.actions)?;
        self.network.as_ref().map_or(Ok(()), Network::check)?;
        self.method.check()?;
        self.schedule.check()
    }
}

/// Most states of a prompt.
const MOST_STATES: usize = 1 << 14;

/// Memory of the states: what a token depends on beside its position.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct States {
    /// Tokens before it whose outcomes make the state; as many as there are positions make it the prefix.
    pub memory: usize,
    /// Probability that the outcome of a token is one of all actions at random in place of the one chosen.
    pub noise: f64,
}

settings! {
    /// A policy by a network of one hidden layer over features of each action, in place of the environment's.
    #[derive(Eq)]
    pub struct Network {
        /// Units of the hidden layer.
        pub hidden: usize = 32, check_at_least(1.0);
        /// Random features of each action, where the environment has none.
        pub features: usize = 16, check_at_least(1.0);
    }
}

impl States {
    /// Checks the settings for responses of `positions` tokens.
    fn check(self, positions: usize, actions: usize) -> Result<(), ExperimentError> {
        let states = count(positions, actions, self.memory);
        if states > MOST_STATES {
            let memory = self.memory;
            return Err(ExperimentError(format!(
                "`memory` is {memory}: {states} states of a prompt, expected at most {MOST_STATES}"
            )));
        }
        check_share("noise", self.noise)
    }
}
