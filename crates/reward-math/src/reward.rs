//! Conversion of a verdict to the reward for training.

use serde::{Deserialize, Serialize};

use crate::verdict::Verdict;

/// Reward of each verdict, in reward units.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Reward {
    /// Reward of a correct answer; above `wrong`, or equal where a divergence is the reward.
    pub right: f64,
    /// Reward of a wrong answer.
    pub wrong: f64,
    /// Reward if no answer could be read.
    pub unparsed: f64,
}

impl Default for Reward {
    fn default() -> Self {
        Self { right: 1.0, wrong: 0.0, unparsed: 0.0 }
    }
}

impl Reward {
    /// Returns the reward of this verdict.
    pub fn of(&self, verdict: &Verdict) -> f64 {
        match verdict {
            Verdict::Right { .. } => self.right,
            Verdict::Wrong { .. } => self.wrong,
            Verdict::Unparsed { .. } => self.unparsed,
        }
    }
}
