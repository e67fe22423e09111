use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use model_files::section;

/// Reaction to an entropy out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GuardAction {
    /// Say so.
    #[default]
    Warn,
    /// Say so, and halve the learning rate at each such step; it doubles back at each step within bounds.
    BackOff,
    /// Save, say so, and end the run.
    Stop,
}

section! {
    /// `[guard]`: when a run should not simply go on.
    #[derive(Copy)]
    pub struct GuardSection {
        /// Entropy, in nats, below which the policy has collapsed; 0 is never.
        #[schemars(range(min = 0.0))]
        pub entropy_min: f64 = 0.0,
        /// Entropy, in nats, above which the policy is lost; `inf` is never.
        pub entropy_max: f64 = f64::INFINITY,
        /// Reaction outside these bounds: `"warn"`, `"back-off"` (lowers the learning rate) or `"stop"`
        /// (saves and ends the run). `"back-off"` halves the rate at each such step and doubles it back
        /// within bounds.
        pub action: GuardAction = GuardAction::default(),
        /// Consecutive optimiser steps skipped for a non-finite gradient that end the run; 0 is never.
        pub skipped_updates: usize = 3,
        /// Effective fraction of the tokens under the importance weights of an external engine
        /// (`rollout/correction_effective_fraction`) below which the engine draws from another policy;
        /// 0 is never.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub effective_fraction_min: f64 = 0.5,
        /// Consecutive steps below that fraction that end the run, each with a warning; 0 is never.
        pub mismatched_steps: usize = 3,
    }
}

impl GuardSection {
    /// Message for an entropy out of bounds, in nats; `None` within bounds.
    pub fn entropy_out_of_bounds(&self, entropy: f64) -> Option<String> {
        let Self { entropy_min, entropy_max, .. } = *self;
        if entropy < entropy_min {
            Some(format!("entropy {entropy:.4} nat is below guard.entropy_min = {entropy_min}"))
        } else if entropy > entropy_max {
            Some(format!("entropy {entropy:.4} nat is above guard.entropy_max = {entropy_max}"))
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_belong_to_the_range() {
        let guard = GuardSection { entropy_min: 0.1, entropy_max: 2.0, ..GuardSection::default() };
        assert_eq!(guard.entropy_out_of_bounds(0.1), None);
        assert_eq!(guard.entropy_out_of_bounds(2.0), None);
        assert_eq!(
            guard.entropy_out_of_bounds(0.05).as_deref(),
            Some("entropy 0.0500 nat is below guard.entropy_min = 0.1")
        );
        assert_eq!(
            guard.entropy_out_of_bounds(2.5).as_deref(),
            Some("entropy 2.5000 nat is above guard.entropy_max = 2")
        );
        assert_eq!(GuardSection::default().entropy_out_of_bounds(1e300), None);
    }
}
