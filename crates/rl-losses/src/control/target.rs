//! The entropy a controller aims at.

use crate::parameter::settings;

settings! {
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
    pub struct EntropyTarget required {
        /// Entropy held at the first step, in nats, above 0; best the untrained policy's.
        pub start: f64, check_positive;
        /// Entropy held at the end, in nats, above 0.
        pub end: f64, check_positive;
        /// Steps from `start` to `end`, geometrically; 0 aims at `end` at once.
        pub steps: u64;
    }
}

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
