//! The part of a method that stands in its own file: what it makes of a mini-batch.

use crate::{
    Column, ExactSum, PlanSummary, Real, Shared, TokenBatch, fast::spread::Spread,
    selection::Selection,
};

/// A method of the registry, over columns of `R`. Its loss of one token is handed out by [`Visited`](crate::term::Visited); its row
/// in the table of `method/mod.rs` has its name, its publication and the columns it needs.
pub(crate) trait PolicyMethod<R: Real> {
    /// The share of the tokens that is singled out, if any is.
    fn selection(&self) -> Option<Selection> {
        None
    }

    /// Positions of the tokens that are singled out one by one, ascending; the summary is that of the mini-batch.
    fn select(&self, _batch: &TokenBatch<'_, R>, _summary: &PlanSummary) -> Vec<usize> {
        Vec::new()
    }

    /// The constants of the tokens, or the number that [`TokenLoss::constant`](crate::TokenLoss::constant) makes them of.
    fn constants(&self, _batch: &TokenBatch<'_, R>, _summary: &PlanSummary) -> Spread {
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
    fn largest(&self, _batch: &TokenBatch<'_, R>) -> f64 {
        0.0
    }

    /// Sums over a part of the mini-batch that bounds are found by.
    fn sums(&self, _batch: &TokenBatch<'_, R>) -> Vec<ExactSum> {
        Vec::new()
    }

    /// Sums over a part of the mini-batch of terms that depend on the summary of all of it.
    fn later_sums(&self, _batch: &TokenBatch<'_, R>, _summary: &PlanSummary) -> Vec<ExactSum> {
        Vec::new()
    }
}
