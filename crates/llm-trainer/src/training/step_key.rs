//! The key of a training step's randomness.

/// Seed of the run and number of the step; all noise of a step is a function of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepKey {
    /// Seed of the run.
    pub seed: u64,
    /// Training step, counted from 1; 0 is before the first update.
    pub step: u64,
}
