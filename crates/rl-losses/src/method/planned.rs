//! Parts of a plan that only some methods have, and the loss of one token of each.

use crate::{
    batch::{Column, TokenBatch},
    fast::{exact_sum::ExactSum, real::Real, spread::Spread},
    method::{
        CovarianceWeight, EntropyDiscriminator, Gspo, PolicyLoss, Steer, Vespo, kl_cov::Plain,
        treatment::Penalising,
    },
    plan_summary::PlanSummary,
    selection::Selection,
    surrogate::{Dropping, Limited},
    term::{Shared, Visitor},
};

impl PolicyLoss {
    /// Hands the loss of one token to `visitor`.
    pub(crate) fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        match self {
            Self::PpoClip(loss) => visitor.visit(&loss.surrogate()),
            Self::ClipCov(loss) => visitor.visit(&Dropping(loss.surrogate())),
            Self::KlCov(loss) => {
                visitor.visit(&Penalising { base: Plain, penalty: loss.penalty() })
            }
            Self::CovarianceControl(loss) => loss.visit(visitor),
            Self::Cispo(loss) => visitor.visit(&Limited(*loss)),
            Self::Gspo(loss) => visitor.visit(loss),
            Self::Gmpo(loss) => visitor.visit(loss),
            Self::Sapo(loss) => visitor.visit(&Limited(*loss)),
            Self::DppoTv(loss) => visitor.visit(&Limited(*loss)),
            Self::DppoKl(loss) => visitor.visit(&Limited(*loss)),
            Self::Reinforce(loss) => visitor.visit(loss),
            Self::Dro(loss) => visitor.visit(loss),
            Self::HighEntropy(loss) => visitor.visit(&Limited(*loss)),
            Self::Steer(loss) => visitor.visit(&Limited(*loss)),
            Self::CeGppo(loss) => visitor.visit(&Limited(*loss)),
            Self::SignWeight(loss) => visitor.visit(&Limited(*loss)),
            Self::EntropyRatioClip(loss) => visitor.visit(&Dropping(loss.surrogate())),
            Self::DynamicClip(loss) => visitor.visit(&Limited(*loss)),
            Self::SequenceMask(loss) => visitor.visit(&Dropping(loss.surrogate())),
            Self::Vespo(loss) => visitor.visit(&Limited(*loss)),
            Self::Topr(loss) => visitor.visit(&Limited(*loss)),
            Self::Bapo(loss) => visitor.visit(&Limited(*loss)),
            Self::EntropyDiscriminator(loss) => visitor.visit(&Dropping(loss.surrogate())),
            Self::CovarianceWeight(loss) => visitor.visit(&Limited(*loss)),
        }
    }

    /// The share of the tokens that is singled out, if any is.
    pub(crate) fn selection(&self) -> Option<Selection> {
        match self {
            Self::ClipCov(loss) => Some(loss.selection()),
            Self::KlCov(loss) => Some(loss.selection()),
            Self::CovarianceControl(loss) => Some(loss.selection()),
            Self::HighEntropy(loss) => Some(loss.selection()),
            _ => None,
        }
    }

    /// Positions of the tokens that are singled out one by one, ascending; the summary is that of the mini-batch.
    pub(crate) fn select<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        summary: &PlanSummary,
    ) -> Vec<usize> {
        match self {
            Self::EntropyRatioClip(loss) => loss.select(batch),
            Self::SequenceMask(loss) => loss.select(batch),
            Self::EntropyDiscriminator(loss) => loss.select(batch, summary),
            _ => Vec::new(),
        }
    }

    /// The constants of the tokens, or the number that [`TokenLoss::constant`](crate::TokenLoss::constant) makes them of.
    pub(crate) fn constants<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        summary: &PlanSummary,
    ) -> Spread {
        match self {
            Self::Gspo(_) => Gspo::constants(batch),
            Self::Gmpo(loss) => loss.constants(batch),
            Self::Vespo(_) => Vespo::constants(batch),
            Self::Topr(loss) => loss.constants(batch),
            Self::Steer(loss) => Spread::Uniform(loss.rate(summary)),
            Self::Bapo(loss) => Spread::Uniform(loss.steps(&summary.sums) as f64),
            _ => Spread::Uniform(0.0),
        }
    }

    /// The optional column that [`TokenLoss::constant`](crate::TokenLoss::constant) reads.
    pub(crate) fn column(&self) -> Option<Column> {
        match self {
            Self::CovarianceControl(loss) => loss.treatment.column(),
            Self::Steer(_) => Some(Column::Entropy),
            _ => None,
        }
    }

    /// Largest magnitude over a part of the mini-batch of what is scaled by its largest.
    pub(crate) fn largest<R: Real>(&self, batch: &TokenBatch<'_, R>) -> f64 {
        if let Self::Steer(_) = self { Steer::largest(batch) } else { 0.0 }
    }

    /// Sums over a part of the mini-batch that bounds are found by.
    pub(crate) fn sums<R: Real>(&self, batch: &TokenBatch<'_, R>) -> Vec<ExactSum> {
        match self {
            Self::Bapo(loss) => loss.sums(batch),
            Self::EntropyDiscriminator(_) => EntropyDiscriminator::sums(batch),
            Self::CovarianceWeight(_) => CovarianceWeight::sums(batch),
            _ => Vec::new(),
        }
    }

    /// Sums over a part of the mini-batch of terms that depend on the summary of all of it.
    pub(crate) fn later_sums<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        summary: &PlanSummary,
    ) -> Vec<ExactSum> {
        match self {
            Self::CovarianceWeight(_) => CovarianceWeight::later_sums(batch, summary),
            _ => Vec::new(),
        }
    }

    /// Numbers of the mini-batch that [`TokenLoss::constant`](crate::TokenLoss::constant) makes the constants of, given its
    /// summary and its [later sums](Self::later_sums).
    pub(crate) fn shared(&self, summary: &PlanSummary, later: &[ExactSum]) -> Option<Shared> {
        match self {
            Self::CovarianceWeight(_) => Some(CovarianceWeight::shared(summary, later)),
            _ => None,
        }
    }
}
