//! The learning rate of each optimiser step.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Shape of the learning rate after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// Stays at its peak.
    #[default]
    Constant,
    /// Falls linearly, to 0 just after the last step.
    Linear,
    /// Falls as half a cosine, to 0 just after the last step.
    Cosine,
}

/// Factor on the learning rate as a function of the optimiser step.
///
/// Steps are optimiser steps (mini-batches), counted from 0 over the whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Shape after the warm-up.
    pub decay: Decay,
    /// Number of steps below the peak at the start.
    pub warmup_steps: u64,
    /// Number of steps of the whole run, warm-up included.
    pub total_steps: u64,
}

impl Schedule {
    /// Factor of `step`, in `(0, 1]` during the run, and 0 after its end if it decays.
    ///
    /// ```text
    /// warm-up:  (step + 1) / (warmup_steps + 1)          for step < warmup_steps
    /// linear:   1 - p          cosine: (1 + cos(π p)) / 2,  p = (step - warmup) / (total - warmup)
    /// ```
    ///
    /// It is never 0 at step 0: a warm-up that starts there wastes a whole step of rollouts
    /// (verl#1463, `docs/paper-vs-code.md`).
    pub fn factor(&self, step: u64) -> f64 {
        if step < self.warmup_steps {
            return (step + 1) as f64 / (self.warmup_steps + 1) as f64;
        }
        let decay_steps = self.total_steps.saturating_sub(self.warmup_steps).max(1);
        let progress = ((step - self.warmup_steps) as f64 / decay_steps as f64).min(1.0);
        match self.decay {
            Decay::Constant => 1.0,
            Decay::Linear => 1.0 - progress,
            Decay::Cosine => 0.5 * (1.0 + (std::f64::consts::PI * progress).cos()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn factors(decay: Decay, warmup_steps: u64, total_steps: u64) -> Vec<f64> {
        let schedule = Schedule { decay, warmup_steps, total_steps };
        (0..total_steps).map(|step| schedule.factor(step)).collect()
    }

    #[test]
    fn factors_are_those_of_the_formulas() {
        let root_half = std::f64::consts::FRAC_1_SQRT_2;
        let half_cosine = [1.0, 0.5 + root_half / 2.0, 0.5, 0.5 - root_half / 2.0];
        for (decay, warmup_steps, expected) in [
            (Decay::Constant, 3, &[0.25, 0.5, 0.75, 1.0, 1.0][..]),
            (Decay::Linear, 1, &[0.5, 1.0, 0.75, 0.5, 0.25]),
            (Decay::Cosine, 0, &half_cosine),
        ] {
            let factors = factors(decay, warmup_steps, expected.len() as u64);
            for (factor, expected) in factors.iter().zip(expected) {
                assert!((factor - expected).abs() < 1e-15, "{decay:?}: {factor} for {expected}");
            }
        }
    }

    proptest! {
        #[test]
        fn no_step_of_the_run_is_wasted(
            warmup_steps in 0_u64..20,
            total_steps in 1_u64..60,
            decay in prop::sample::select(vec![Decay::Constant, Decay::Linear, Decay::Cosine]),
        ) {
            for factor in factors(decay, warmup_steps, total_steps) {
                prop_assert!(factor > 0.0 && factor <= 1.0, "{factor}");
            }
        }
    }
}
