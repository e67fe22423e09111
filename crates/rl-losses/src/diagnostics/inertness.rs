//! Whether a penalty on the log-ratio acts at all.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize};

use crate::{
    ColumnError,
    column::{check_columns, check_length},
};

/// A log-ratio up to this is rounding, in nats: two passes of one model differ by as much.
const ROUNDING: f64 = 1e-12;

/// Additive statistics of the tokens a method has selected: add every part and rank, then divide.
///
/// KL-Cov penalises `|log π - log π_old|`, whose slope at 0 is 0: with one update per rollout the
/// method is a plain policy gradient and never acts (row 8 of `docs/paper-vs-code.md`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InertnessSums {
    /// Tokens selected.
    pub selected: usize,
    /// Of these, tokens whose log-ratio is 0, to 1e-12.
    pub unmoved: usize,
}

impl InertnessSums {
    /// Sums over tokens, with `selected` as in [`StepPlan::selected`](crate::StepPlan::selected).
    ///
    /// # Errors
    ///
    /// [`ColumnError`] if the columns, all `[tokens]`, differ in length or a value is not finite.
    pub fn of(
        log_prob: &[f64],
        old_log_prob: &[f64],
        selected: &[bool],
    ) -> Result<Self, ColumnError> {
        check_columns(&[("log_prob", log_prob), ("old_log_prob", old_log_prob)])?;
        check_length("selected", selected.len(), "log_prob", log_prob.len())?;
        let mut sums = Self::default();
        for (log_ratio, _) in std::iter::zip(log_prob, old_log_prob)
            .map(|(new, old)| new - old)
            .zip(selected)
            .filter(|(_, selected)| **selected)
        {
            sums.selected += 1;
            sums.unmoved += usize::from(log_ratio.abs() <= ROUNDING);
        }
        Ok(sums)
    }

    /// Fraction of the selected tokens on which the penalty has no gradient, `0..=1`. NaN if none
    /// are selected.
    pub fn inert_fraction(&self) -> f64 {
        self.unmoved as f64 / self.selected as f64
    }

    /// Whether tokens were selected and the penalty acts on none of them: worth a warning, unless it
    /// is the first update of a rollout.
    pub fn is_inert(&self) -> bool {
        self.selected > 0 && self.unmoved == self.selected
    }
}

impl AddAssign for InertnessSums {
    fn add_assign(&mut self, other: Self) {
        self.selected += other.selected;
        self.unmoved += other.unmoved;
    }
}
