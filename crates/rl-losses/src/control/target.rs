//! The entropy a controller aims at.

use serde::{Deserialize, Serialize};

use crate::parameter::{ParameterError, Settings, check_positive, checked_when_read};

/// A trajectory of entropies: from `start` to `end` over `steps`, then constant.
///
/// ```text
/// H*(k) = start · (end / start)^(min(k / steps, 1))
/// ```
///
/// Geometric, because entropy decays that way by itself and the thermostat's error is a logarithm.
///
/// Start it at the entropy of the untrained policy. A lower start asks for less entropy at first, and
/// what has collapsed comes back slowly if at all: groups that are all right have no gradient left
/// for a method to drop or penalise (`tests/it/thermostat_on_a_policy.rs` holds policies that would
/// collapse along such a trajectory; with a constant target several end below it, at the bound).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!remote))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct EntropyTarget {
    /// Entropy held at the first step, in nats, above 0; best the untrained policy's.
    pub start: f64,
    /// Entropy held at the end, in nats, above 0.
    pub end: f64,
    /// Steps from `start` to `end`, geometrically; 0 aims at `end` at once.
    pub steps: u64,
}

impl Settings for EntropyTarget {
    fn check(&self) -> Result<(), ParameterError> {
        check_positive("start", self.start)?;
        check_positive("end", self.end).map(drop)
    }
}

checked_when_read!(EntropyTarget);

impl EntropyTarget {
    /// One entropy throughout, in nats.
    pub fn constant(entropy: f64) -> Self {
        Self { start: entropy, end: entropy, steps: 0 }
    }

    /// The entropy aimed at in a step, in nats.
    pub fn at(&self, step: u64) -> f64 {
        if step >= self.steps {
            return self.end;
        }
        let share = step as f64 / self.steps as f64;
        self.start * (self.end / self.start).powf(share)
    }
}
