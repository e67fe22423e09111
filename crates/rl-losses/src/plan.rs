//! What one optimiser step decides over its whole mini-batch.

use std::ops::Range;

/// Which tokens of the mini-batch are treated specially, and what each weighs in the sum.
///
/// Both are constants of the loss: they are never differentiated.
#[derive(Debug, Clone, PartialEq)]
pub struct StepPlan {
    selected: Vec<bool>,
    weights: Vec<f64>,
}

/// The plan of a run of tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlanPart<'a> {
    selected: &'a [bool],
    weights: &'a [f64],
}

impl StepPlan {
    /// A plan made elsewhere: replayed from a log, exact expectations, another implementation.
    ///
    /// # Panics
    ///
    /// If the two columns, both `[tokens]`, differ in length.
    pub fn new(selected: Vec<bool>, weights: Vec<f64>) -> Self {
        assert_eq!(selected.len(), weights.len(), "one selection and one weight per token");
        Self { selected, weights }
    }

    /// Multiplies the weights by per-token importance weights, `[tokens]`: all that a rollout
    /// correction is.
    ///
    /// # Panics
    ///
    /// If `importance` does not hold one value per token.
    pub fn reweight(&mut self, importance: &[f64]) {
        assert_eq!(importance.len(), self.weights.len(), "one importance weight per token");
        for (weight, factor) in std::iter::zip(&mut self.weights, importance) {
            *weight *= factor;
        }
    }

    /// The plan of `tokens`, a run of the mini-batch.
    ///
    /// # Panics
    ///
    /// If `tokens` reaches past the mini-batch.
    pub fn part(&self, tokens: Range<usize>) -> PlanPart<'_> {
        PlanPart { selected: &self.selected[tokens.clone()], weights: &self.weights[tokens] }
    }

    /// The tokens Clip-Cov drops or KL-Cov penalises, `[tokens]`.
    pub fn selected(&self) -> &[bool] {
        &self.selected
    }

    /// What each token weighs in the sum, `[tokens]`.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }
}

impl<'a> PlanPart<'a> {
    /// The tokens Clip-Cov drops or KL-Cov penalises.
    pub fn selected(&self) -> &'a [bool] {
        self.selected
    }

    /// What each token weighs in the sum.
    pub fn weights(&self) -> &'a [f64] {
        self.weights
    }
}

/// `fraction` of `tokens`, rounded down, but at least one of a non-empty batch: row 3 of
/// `docs/paper-vs-code.md`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count is a count; rounding down is the definition"
)]
pub(crate) fn share(fraction: f64, tokens: usize) -> usize {
    ((fraction * tokens as f64) as usize).max(1).min(tokens)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_truncated_and_never_empty() {
        // 0.29 · 100 is 28.999999999999996 in f64.
        assert_eq!(share(0.29, 100), 28);
        assert_eq!(share(2e-4, 36), 1);
        assert_eq!(share(1.0, 7), 7);
        assert_eq!(share(0.5, 0), 0);
    }
}
