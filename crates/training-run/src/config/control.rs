//! What holds a run together: the pull to a reference, and the guards.

use rl_losses::{KlCoefficient, KlEstimator};
use serde::{Deserialize, Serialize};

/// Where the divergence from the reference enters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KlPlacement {
    /// A term of the loss, differentiated.
    #[default]
    Loss,
    /// Taken off the rewards, token by token.
    Reward,
}

/// `[algorithm.reference_kl]`: the policy before the run as a frozen reference.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReferenceKl {
    /// Where the divergence enters.
    #[serde(default)]
    pub placement: KlPlacement,
    /// How it is estimated of a sampled token.
    #[serde(default = "default_estimator")]
    pub estimator: KlEstimator,
    /// What it is multiplied by, reward per nat.
    #[serde(default = "default_coefficient")]
    pub coefficient: KlCoefficient,
}

fn default_estimator() -> KlEstimator {
    KlEstimator::K3
}

fn default_coefficient() -> KlCoefficient {
    KlCoefficient::Fixed(0.001)
}

/// What happens while the entropy is out of bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
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

/// `[guard]`: when a run should not simply go on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct GuardSection {
    /// Entropy below which the policy has collapsed, in nats; 0 is never.
    pub entropy_min: f64,
    /// Entropy above which the policy babbles, in nats; infinite is never.
    pub entropy_max: f64,
    /// What happens outside these bounds.
    pub action: GuardAction,
    /// Optimiser steps in a row whose gradient is not finite, after which the run ends; 0 is never.
    pub skipped_updates: usize,
}

impl Default for GuardSection {
    fn default() -> Self {
        Self {
            entropy_min: 0.0,
            entropy_max: f64::INFINITY,
            action: GuardAction::default(),
            skipped_updates: 3,
        }
    }
}

impl GuardSection {
    /// What is wrong with an entropy, in nats; nothing within bounds.
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
