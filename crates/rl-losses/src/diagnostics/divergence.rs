//! How far the policy has moved within a step.

use serde::Serialize;

use crate::{ColumnError, column::check_columns, surrogate::limited};

/// Statistics of `x = log_prob - old_log_prob` over tokens.
///
/// Tokens are samples of the **old** policy, so the means estimate `KL(π_old ‖ π)`. Each `x` is held
/// to ±20 nats.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct DivergenceSums {
    /// Tokens seen.
    pub tokens: usize,
    /// `Σ -x`, in nats.
    pub k1: f64,
    /// `Σ (e^x - 1 - x)`, in nats.
    pub k3: f64,
    /// `Σ |x|`, in nats.
    pub abs_log_ratio: f64,
    /// The largest `|x|`, in nats; a maximum, not a sum.
    pub max_abs_log_ratio: f64,
}

impl DivergenceSums {
    /// Sums over tokens.
    ///
    /// # Errors
    ///
    /// [`ColumnError`] if the columns, both `[tokens]`, differ in length or a value is not finite.
    pub fn of(log_prob: &[f64], old_log_prob: &[f64]) -> Result<Self, ColumnError> {
        check_columns(&[("log_prob", log_prob), ("old_log_prob", old_log_prob)])?;
        let mut sums = Self { tokens: log_prob.len(), ..Self::default() };
        for (new, old) in std::iter::zip(log_prob, old_log_prob) {
            let x = limited(new - old);
            sums.k1 -= x;
            sums.k3 += x.exp_m1() - x;
            sums.abs_log_ratio += x.abs();
            sums.max_abs_log_ratio = sums.max_abs_log_ratio.max(x.abs());
        }
        Ok(sums)
    }

    /// `KL(π_old ‖ π)` per token by its plain estimate, in nats; may be negative. NaN of no tokens.
    pub fn mean_k1(&self) -> f64 {
        self.k1 / self.tokens as f64
    }

    /// `KL(π_old ‖ π)` per token by the estimate that is never negative, in nats. NaN of no tokens.
    pub fn mean_k3(&self) -> f64 {
        self.k3 / self.tokens as f64
    }

    /// Mean of `|x|`, in nats. NaN of no tokens.
    pub fn mean_abs_log_ratio(&self) -> f64 {
        self.abs_log_ratio / self.tokens as f64
    }
}
