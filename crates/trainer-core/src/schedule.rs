//! The learning rate of each optimiser step.

use serde::{Deserialize, Serialize};

/// Shape of the learning rate after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Decay {
    /// Stays at its peak.
    #[default]
    Constant,
    /// Falls linearly, and would reach 0 just after the last step.
    Linear,
    /// Falls as half a cosine, and would reach 0 just after the last step.
    Cosine,
}

/// Factor on the learning rate as a function of the optimiser step.
///
/// Steps are optimiser steps (mini-batches), counted from 0 over the whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Schedule {
    /// Shape after the warm-up.
    pub decay: Decay,
    /// Steps that run below the peak before it.
    pub warmup_steps: u64,
    /// Steps of the whole run, warm-up included.
    pub total_steps: u64,
}

impl Schedule {
    /// The factor of `step`, in `(0, 1]` for every step of the run and 0 after its end where it decays.
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
