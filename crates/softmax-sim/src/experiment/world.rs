//! The environment of a run, as configurations write it.

use super::error::ExperimentError;
use crate::environment::{Environment, Shape, SharedSetting, SizeSetting, TabularSetting};
use serde::{Deserialize, Serialize};

/// An environment and its settings; a key that is left out has the value of the finding it is known
/// from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum World {
    /// Free logits in each state; defaults: [`TabularSetting::CONTROL`].
    Tabular(TabularSetting),
    /// Weights of shared features, examined on held-out prompts; defaults:
    /// [`SharedSetting::HELD_OUT`].
    Shared(SharedSetting),
    /// A model that sees part of the features; defaults: [`SizeSetting::of`] 16.
    Size(SizeSetting),
}

impl Default for World {
    fn default() -> Self {
        Self::Tabular(TabularSetting::CONTROL)
    }
}

impl World {
    /// Draws the environment number `seed`.
    pub fn draw(&self, seed: u64) -> Environment {
        match self {
            Self::Tabular(world) => world.draw(seed),
            Self::Shared(world) => world.draw(seed),
            Self::Size(world) => world.draw(seed),
        }
    }

    pub(super) fn with_positions(self, positions: usize) -> Self {
        match self {
            Self::Tabular(world) => Self::Tabular(TabularSetting { positions, ..world }),
            Self::Shared(world) => Self::Shared(SharedSetting { positions, ..world }),
            Self::Size(world) => Self::Size(SizeSetting { positions, ..world }),
        }
    }

    /// Prompts, positions and actions.
    pub fn shape(&self) -> Shape {
        let (Self::Tabular(TabularSetting { prompts, positions, actions, .. })
        | Self::Shared(SharedSetting { prompts, positions, actions, .. })
        | Self::Size(SizeSetting { prompts, positions, actions, .. })) = *self;
        Shape { prompts, positions, actions }
    }

    /// Checks that the environment can be drawn.
    ///
    /// # Errors
    ///
    /// [`ExperimentError`], naming the setting.
    pub fn check(&self) -> Result<(), ExperimentError> {
        match self {
            Self::Tabular(world) => world.check(),
            Self::Shared(world) => world.check(),
            Self::Size(world) => world.check(),
        }
    }
}
