//! A training run as configurations and Python write it: environment, method and schedule by the names of their keys.

pub(crate) mod error;
mod world;

pub use error::ExperimentError;
pub use world::{Shared, Size, Tabular, World};

use crate::training::{Method, Schedule};
use serde::{Deserialize, Serialize};

/// A method on an environment, for [`train`](crate::training::train).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Experiment {
    /// The environment.
    pub environment: World,
    /// Loss, advantages, regularisers.
    pub method: Method,
    /// Rollouts, mini-batches, learning rate.
    pub schedule: Schedule,
}

impl Default for Experiment {
    fn default() -> Self {
        Self {
            environment: World::Tabular(Tabular::default()),
            method: Method::default(),
            schedule: Schedule::default(),
        }
    }
}

impl Experiment {
    /// Checks that the settings can be run.
    ///
    /// # Errors
    ///
    /// [`ExperimentError`], naming the setting.
    pub fn check(&self) -> Result<(), ExperimentError> {
        self.environment.check()?;
        self.method.check()?;
        self.schedule.check()
    }
}
