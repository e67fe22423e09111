//! States and policy of a run, as configurations write them, for any environment.

use super::error::{ExperimentError, check_share};
use crate::environment::states::count;
use crate::settings::settings;
use serde::{Deserialize, Serialize};

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
    pub(super) fn check(self, positions: usize, actions: usize) -> Result<(), ExperimentError> {
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
