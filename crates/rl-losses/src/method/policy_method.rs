//! The part of a method that stands in its own file: what it does with a mini-batch and with a token.

use crate::{
    Column, ExactSum, PlanSummary, Real, Shared, TokenBatch, fast::spread::Spread,
    selection::Selection, term::Visitor,
};

/// A method of the registry. Its row in the table of `method/mod.rs` has its name, its publication and the columns it needs.
pub(crate) trait PolicyMethod {
    /// Hands the loss of one token to `visitor`.
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output;

    /// The share of the tokens that is singled out, if any is.
    fn selection(&self) -> Option<Selection> {
        None
    }

    /// Positions of the tokens that are singled out one by one, ascending; the summary is that of the mini-batch.
    fn select<R: Real>(&self, _batch: &TokenBatch<'_, R>, _summary: &PlanSummary) -> Vec<usize> {
        Vec::new()
    }

    /// The constants of the tokens, or the number that [`TokenLoss::constant`](crate::TokenLoss::constant) makes them of.
    fn constants<R: Real>(&self, _batch: &TokenBatch<'_, R>, _summary: &PlanSummary) -> Spread {
        Spread::Uniform(0.0)
    }

    /// Numbers of the mini-batch that [`TokenLoss::constant`](crate::TokenLoss::constant) makes the constants of, given its
    /// summary and its [later sums](Self::later_sums).
    fn shared(&self, _summary: &PlanSummary, _later: &[ExactSum]) -> Option<Shared> {
        None
    }

    /// The optional column that [`TokenLoss::constant`](crate::TokenLoss::constant) reads.
    fn column(&self) -> Option<Column> {
        None
    }

    /// Largest magnitude over a part of the mini-batch of what is scaled by its largest.
    fn largest<R: Real>(&self, _batch: &TokenBatch<'_, R>) -> f64 {
        0.0
    }

    /// Sums over a part of the mini-batch that bounds are found by.
    fn sums<R: Real>(&self, _batch: &TokenBatch<'_, R>) -> Vec<ExactSum> {
        Vec::new()
    }

    /// Sums over a part of the mini-batch of terms that depend on the summary of all of it.
    fn later_sums<R: Real>(
        &self,
        _batch: &TokenBatch<'_, R>,
        _summary: &PlanSummary,
    ) -> Vec<ExactSum> {
        Vec::new()
    }
}
