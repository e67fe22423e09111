//! Policy that the ratios of an update are taken to.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Policy whose log-probabilities the ratios of an update are taken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RatioTo {
    /// The policy before the first update, as the trainer computes it. How far the sampling engine is from it, a weight corrects.
    #[default]
    Old,
    /// The policy as sampled: the ratio, and its clip, count the engine's difference too. verl's `bypass_mode`.
    Rollout,
}
