//! The rule by which a method selects tokens, over any split of the mini-batch.

use entropy_core::TokenCentre;

use crate::{
    Centering, Column, ExactSum, PlanSummary, Real, Scope, Semantics, surrogate::Surrogate,
};

/// A share of the tokens: those that come first in an order.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Selection {
    /// The order, which also says which tokens may be selected at all.
    pub(crate) by: Order,
    /// Share of all tokens, above 0 and at most 1.
    pub(crate) fraction: f64,
    /// The tokens it is a share of.
    pub(crate) scope: Scope,
    /// Version whose arithmetic is followed.
    pub(crate) semantics: Semantics,
}

/// An order of tokens.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Order {
    /// Highest covariance first.
    Covariance(Centering),
    /// A random order of the tokens whose covariance lies in a band, but for those that `base` clips already.
    Draw { centering: Centering, low: f64, high: f64, base: Surrogate },
    /// Highest entropy first.
    Entropy,
}

impl Order {
    pub(crate) fn centering(self) -> Option<Centering> {
        match self {
            Self::Covariance(centering) | Self::Draw { centering, .. } => Some(centering),
            Self::Entropy => None,
        }
    }
}

impl Selection {
    /// The column it reads besides the three.
    pub(crate) fn column(&self) -> Option<Column> {
        (self.by.centering() != Some(Centering::Batch)).then_some(Column::Entropy)
    }

    /// Returns true if tokens are drawn at random.
    pub(crate) fn draws(&self) -> bool {
        matches!(self.by, Order::Draw { .. })
    }

    /// Returns true if a token of this advantage may be selected by its covariance. One of advantage 0, as all have of a group whose
    /// rewards are equal, has no policy gradient and moves no entropy; the published codes select it all the same (row 58).
    #[inline(always)]
    pub(crate) fn admits<R: Real>(&self, advantage: R) -> bool {
        self.semantics != Semantics::Exact || self.by == Order::Entropy || advantage != R::of(0.0)
    }

    /// Returns true if the means over the scope are needed.
    pub(crate) fn needs_means(&self) -> bool {
        self.by.centering() == Some(Centering::Batch)
    }

    /// How many of `tokens` are selected: `fraction` of them, rounded down, but at least one of a non-empty batch (row 3 of
    /// `docs/paper-vs-code.md`).
    pub(crate) fn count(&self, tokens: usize) -> usize {
        match (self.semantics, self.by) {
            (Semantics::Paper, _) => truncated(self.fraction * tokens as f64).min(tokens),
            (Semantics::Prime, Order::Covariance(_) | Order::Entropy) => {
                // The percentage that the fork's user writes, capped by the number of tokens (row 2).
                let percent = (self.fraction * 1e14).round() / 1e12;
                let count = tokens as f64 * percent.min(tokens as f64) / 100.0;
                truncated(count).max(1).min(tokens)
            }
            _ => truncated(self.fraction * tokens as f64).max(1).min(tokens),
        }
    }

    /// The means that covariances are centred on, given the whole of the scope.
    pub(crate) fn centre(&self, summary: &PlanSummary) -> TokenCentre {
        let exact = matches!(self.by, Order::Covariance(_))
            || matches!(self.semantics, Semantics::Exact | Semantics::Paper);
        // Clip-Cov of both codes divides by a little more (row 10).
        let count = summary.tokens as f64 + if exact { 0.0 } else { 1e-8 };
        let mean = |sum: &ExactSum| if summary.tokens == 0 { 0.0 } else { sum.total() / count };
        TokenCentre { advantage: mean(&summary.advantage), log_prob: mean(&summary.log_prob) }
    }
}

/// The whole part of a count.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a count is a count; rounding down is the definition"
)]
fn truncated(count: f64) -> usize {
    count as usize
}
