//! What a method holds constant about each token.

use std::iter::zip;

use crate::{Column, Real, Steer, spread::Spread};

/// One constant for each token, or what it is made of: a column of the batch is not written down a second time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Constants {
    /// Known since the plan.
    Known(Spread),
    /// `log π_old - log π_anchor`, the anchor's log-probability being this column.
    AnchorShift(Column),
    /// [`Steer::weight`] at this rate.
    EntropyChange {
        /// `k`, per nat·reward.
        rate: f64,
    },
}

/// The columns that constants are made of, of the same tokens.
#[derive(Clone, Copy)]
pub(crate) struct Sources<'a, R> {
    pub(crate) log_prob: &'a [R],
    pub(crate) old_log_prob: &'a [R],
    pub(crate) advantage: &'a [R],
    /// That of [`Constants::column`], empty where there is none.
    pub(crate) own: &'a [R],
}

impl Constants {
    /// The optional column it reads.
    pub(crate) fn column(&self) -> Option<Column> {
        match self {
            Self::Known(_) => None,
            Self::AnchorShift(column) => Some(*column),
            Self::EntropyChange { .. } => Some(Column::Entropy),
        }
    }

    /// Whether every token has the same.
    pub(crate) fn are_alike(&self) -> bool {
        matches!(self, Self::Known(Spread::Uniform(_)))
    }

    /// Writes those of some tokens of the mini-batch, which begin at `first`, to `into`, which is as long as each of `sources`.
    #[inline(always)]
    pub(crate) fn fill<R: Real>(&self, first: usize, sources: Sources<'_, R>, into: &mut [R]) {
        match self {
            Self::Known(spread) => spread.fill(first..first + into.len(), into),
            Self::AnchorShift(_) => {
                for (into, (old, anchor)) in zip(into, zip(sources.old_log_prob, sources.own)) {
                    *into = R::of(old.to_f64() - anchor.to_f64());
                }
            }
            Self::EntropyChange { rate } => {
                for (into, change) in zip(into, Steer::changes(sources)) {
                    *into = R::of(Steer::weight(*rate, change));
                }
            }
        }
    }
}
