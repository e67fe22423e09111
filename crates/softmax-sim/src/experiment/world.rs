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
    Tabular(Tabular),
    /// Weights of shared features, examined on held-out prompts; defaults:
    /// [`SharedSetting::HELD_OUT`].
    Shared(Shared),
    /// A model that sees part of the features; defaults: [`SizeSetting::of`] 16.
    Size(Size),
}

/// Keys of [`TabularSetting`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Tabular {
    prompts: usize,
    positions: usize,
    actions: usize,
    prior_scale: f64,
    prior_spread: f64,
    prior_merit: f64,
    strictness: f64,
}

impl Default for Tabular {
    fn default() -> Self {
        let TabularSetting { shape, prior_scale, prior_spread, prior_merit, strictness } =
            TabularSetting::CONTROL;
        let Shape { prompts, positions, actions } = shape;
        Self { prompts, positions, actions, prior_scale, prior_spread, prior_merit, strictness }
    }
}

/// Keys of [`SharedSetting`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Shared {
    prompts: usize,
    positions: usize,
    actions: usize,
    validation_prompts: usize,
    features: usize,
    prior_log_scale: f64,
    prior_spread: f64,
}

impl Default for Shared {
    fn default() -> Self {
        let SharedSetting { shape, validation_prompts, features, prior_log_scale, prior_spread } =
            SharedSetting::HELD_OUT;
        let Shape { prompts, positions, actions } = shape;
        Self {
            prompts,
            positions,
            actions,
            validation_prompts,
            features,
            prior_log_scale,
            prior_spread,
        }
    }
}

/// Keys of [`SizeSetting`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Size {
    prompts: usize,
    positions: usize,
    actions: usize,
    validation_prompts: usize,
    features: usize,
    visible: usize,
    decay: f64,
}

impl Default for Size {
    fn default() -> Self {
        let SizeSetting { shape, validation_prompts, features, visible, decay } =
            SizeSetting::of(16);
        let Shape { prompts, positions, actions } = shape;
        Self { prompts, positions, actions, validation_prompts, features, visible, decay }
    }
}

impl World {
    /// Draws the environment number `seed`.
    pub fn draw(&self, seed: u64) -> Environment {
        match *self {
            Self::Tabular(Tabular {
                prior_scale, prior_spread, prior_merit, strictness, ..
            }) => {
                let shape = self.shape();
                TabularSetting { shape, prior_scale, prior_spread, prior_merit, strictness }
                    .draw(seed)
            }
            Self::Shared(Shared {
                validation_prompts,
                features,
                prior_log_scale,
                prior_spread,
                ..
            }) => {
                let shape = self.shape();
                let setting = SharedSetting {
                    shape,
                    validation_prompts,
                    features,
                    prior_log_scale,
                    prior_spread,
                };
                setting.draw(seed)
            }
            Self::Size(Size { validation_prompts, features, visible, decay, .. }) => {
                let shape = self.shape();
                SizeSetting { shape, validation_prompts, features, visible, decay }.draw(seed)
            }
        }
    }

    /// Replaces the number of positions.
    pub(super) fn with_positions(self, positions: usize) -> Self {
        match self {
            Self::Tabular(world) => Self::Tabular(Tabular { positions, ..world }),
            Self::Shared(world) => Self::Shared(Shared { positions, ..world }),
            Self::Size(world) => Self::Size(Size { positions, ..world }),
        }
    }

    /// Prompts, positions and actions.
    pub fn shape(&self) -> Shape {
        let (prompts, positions, actions) = match *self {
            Self::Tabular(Tabular { prompts, positions, actions, .. })
            | Self::Shared(Shared { prompts, positions, actions, .. })
            | Self::Size(Size { prompts, positions, actions, .. }) => (prompts, positions, actions),
        };
        Shape { prompts, positions, actions }
    }

    /// Checks that the environment can be drawn.
    ///
    /// # Errors
    ///
    /// [`ExperimentError`], naming the setting.
    pub fn check(&self) -> Result<(), ExperimentError> {
        check_bounds(self.bounds())
    }

    /// Every number of the settings with its name and the least it may be.
    fn bounds(&self) -> Vec<(&'static str, f64, f64)> {
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
        bounds
    }
}
