//! The environment of a run, as configurations write it.

use super::error::{ExperimentError, check_bounds};
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
        let Shape { prompts, positions, actions } = self.shape();
        let mut bounds = vec![
            ("prompts", prompts as f64, 1.0),
            ("positions", positions as f64, 1.0),
            ("actions", actions as f64, 2.0),
        ];
        let any = f64::MIN;
        match *self {
            Self::Tabular(world) => bounds.extend([
                ("prior_scale", world.prior_scale, 0.0),
                ("prior_spread", world.prior_spread, 0.0),
                ("prior_merit", world.prior_merit, any),
                ("strictness", world.strictness, 0.0),
            ]),
            Self::Shared(world) => bounds.extend([
                ("validation_prompts", world.validation_prompts as f64, 1.0),
                ("features", world.features as f64, 1.0),
                ("prior_log_scale", world.prior_log_scale, any),
                ("prior_spread", world.prior_spread, 0.0),
            ]),
            Self::Size(world) => bounds.extend([
                ("validation_prompts", world.validation_prompts as f64, 1.0),
                ("visible", world.visible as f64, 1.0),
                ("features", world.features as f64, world.visible as f64),
                ("decay", world.decay, any),
            ]),
        }
        check_bounds(bounds)
    }
}
