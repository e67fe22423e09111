//! Plan of one optimiser step over its mini-batch.

use std::ops::Range;

use crate::{batch::Column, fast::spread::Spread, term::Shared};

/// Which tokens of the mini-batch are treated specially, what each weighs in the sum, and the method's
/// own constants.
///
/// All are constants of the loss: they are never differentiated. Selections take memory in proportion
/// to the tokens selected; weights and constants one number per sequence, or none where they are made of the batch's
/// columns as the loss is evaluated, and one per token only in a plan made elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct StepPlan {
    pub(crate) tokens: usize,
    /// Positions, ascending.
    pub(crate) selected: Vec<usize>,
    pub(crate) weights: Spread,
    pub(crate) constants: Spread,
    /// The optional column that the constants are made of as the loss is evaluated.
    pub(crate) column: Option<Column>,
    /// Numbers that they are made of, likewise; 0 without any.
    pub(crate) shared: Option<Shared>,
}

/// The plan of a run of tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanPart<'a> {
    pub(crate) plan: &'a StepPlan,
    tokens: Range<usize>,
}

impl StepPlan {
    /// A plan made elsewhere: replayed from a log, exact expectations, another implementation. For
    /// methods without constants of their own.
    ///
    /// # Panics
    ///
    /// If the two columns, both `[tokens]`, differ in length.
    #[expect(clippy::needless_pass_by_value, reason = "both columns become the plan's")]
    pub fn new(selected: Vec<bool>, weights: Vec<f64>) -> Self {
        assert_eq!(selected.len(), weights.len(), "one selection and one weight per token");
        Self {
            tokens: weights.len(),
            selected: (0..selected.len()).filter(|&token| selected[token]).collect(),
            weights: Spread::PerToken(weights),
            constants: Spread::Uniform(0.0),
            column: None,
            shared: None,
        }
    }

    /// Multiplies the weights by per-token importance weights, `[tokens]`, such as a rollout
    /// correction's.
    ///
    /// # Panics
    ///
    /// If `importance` does not hold one value per token.
    pub fn reweight(&mut self, importance: &[f64]) {
        assert_eq!(importance.len(), self.tokens, "one importance weight per token");
        let mut weights = self.weights();
        for (weight, factor) in std::iter::zip(&mut weights, importance) {
            *weight *= factor;
        }
        self.weights = Spread::PerToken(weights);
    }

    /// The plan of `tokens`, a run of the mini-batch.
    ///
    /// # Panics
    ///
    /// If `tokens` reaches past the mini-batch.
    pub fn part(&self, tokens: Range<usize>) -> PlanPart<'_> {
        assert!(tokens.start <= tokens.end && tokens.end <= self.tokens, "a run of the mini-batch");
        PlanPart { plan: self, tokens }
    }

    /// Number of tokens of the mini-batch.
    pub fn len(&self) -> usize {
        self.tokens
    }

    /// Returns true if the mini-batch has no tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens == 0
    }

    /// Marks the tokens that the method singles out, `[tokens]`: Clip-Cov drops those, KL-Cov penalises
    /// them, the 80/20 rule keeps only them.
    pub fn selected(&self) -> Vec<bool> {
        self.part(0..self.tokens).selected()
    }

    /// Positions of the tokens the method singles out, ascending.
    pub fn selected_tokens(&self) -> &[usize] {
        &self.selected
    }

    /// Weight of each token in the sum, `[tokens]`.
    pub fn weights(&self) -> Vec<f64> {
        self.weights.values(0..self.tokens)
    }
}

impl PlanPart<'_> {
    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.tokens.len()
    }

    /// Returns true if there are no tokens.
    pub fn is_empty(&self) -> bool {
        self.tokens.is_empty()
    }

    /// Marks the tokens that the method singles out, `[tokens]`.
    pub fn selected(&self) -> Vec<bool> {
        let mut marked = vec![false; self.tokens.len()];
        for &token in self.selected_within(&(0..self.tokens.len())) {
            marked[self.index_of(token)] = true;
        }
        marked
    }

    /// Weight of each token in the sum, `[tokens]`.
    pub fn weights(&self) -> Vec<f64> {
        self.plan.weights.values(self.tokens.clone())
    }

    /// Maps a position in the mini-batch to one in the part.
    pub(crate) fn index_of(&self, token: usize) -> usize {
        token - self.tokens.start
    }

    /// The selected tokens of `run`, as positions of the mini-batch.
    pub(crate) fn selected_within(&self, run: &Range<usize>) -> &[usize] {
        let (start, end) = (self.tokens.start + run.start, self.tokens.start + run.end);
        let selected = &self.plan.selected;
        let from = selected.partition_point(|&token| token < start);
        let length = selected[from..].partition_point(|&token| token < end);
        &selected[from..from + length]
    }

    /// Returns true if the constants are made of numbers of the token as the loss is evaluated.
    pub(crate) fn makes_constants(&self) -> bool {
        self.plan.column.is_some() || self.plan.shared.is_some()
    }

    /// Maps a run of the part to one of the mini-batch.
    #[inline(always)]
    pub(crate) fn shifted(&self, run: Range<usize>) -> Range<usize> {
        self.tokens.start + run.start..self.tokens.start + run.end
    }
}
