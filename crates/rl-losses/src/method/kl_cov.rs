//! KL-Cov: penalise the move of the tokens of highest covariance.

use crate::{
    Anchor, Centering, KlEstimator, ParameterError, Penalty, Real, Scope, Scored, Semantics, Term,
    Token, TokenLoss, Treatment,
    method::{policy_method::PolicyMethod, treatment::Treated},
    parameter::{Settings, settings},
    selection::{Order, Selection},
    term::{Visited, Visitor},
};

settings! {
    /// The unclipped surrogate `-r A`, plus `coefficient · |log r|` on the tokens of highest
    /// covariance.
    ///
    /// The penalty is the absolute log-ratio to the policy before the update, not a KL divergence: row
    /// 8 of `docs/paper-vs-code.md`. It is inert where the ratio is 1, so KL-Cov needs at least two
    /// updates per rollout batch. Another penalty or anchor is set by
    /// [`CovarianceControl`](super::covariance_control::CovarianceControl).
    ///
    /// Default: the paper's 7B script, `fraction = 2e-3`, `coefficient = 1` (row 9).
    ///
    /// Source: arXiv:2505.22617, Eqs. 13 and 14.
    pub struct KlCov {
        /// Share of the tokens, of highest covariance, whose move is penalised, above 0, at most 1.
        pub fraction: f64 = 2e-3, check_fraction;
        /// Weight of the penalty, reward per nat, at least 0.
        pub coefficient: f64 = 1.0, check_not_negative;
        /// Penalty on the log-ratio: `"abs"` as in the published code, `"k1"`, `"k2"` or `"k3"`.
        pub divergence: KlEstimator = KlEstimator::Abs;
        /// Means that the covariance is centred by: `"batch"` as published, or `"state"` as in the
        /// theory.
        pub centering: Centering = Centering::Batch;
        /// Tokens that are selected from; a trainer refuses `"micro-batch"`. With it, as in older
        /// codes, the algorithm would depend on memory.
        pub scope: Scope = Scope::MiniBatch;
        /// Code that is imitated: `"exact"` (none), `"paper"`, `"prime"` or `"verl"`.
        pub semantics: Semantics = Semantics::Exact;
    }
}

impl KlCov {
    /// Penalises `fraction` of all tokens with `coefficient` (reward per nat).
    ///
    /// # Errors
    ///
    /// [`ParameterError::OutOfRange`] unless `0 < fraction <= 1` and `coefficient` is finite and
    /// not negative.
    pub fn new(fraction: f64, coefficient: f64) -> Result<Self, ParameterError> {
        let loss = Self { fraction, coefficient, ..Self::DEFAULT };
        loss.check().map(|()| loss)
    }

    /// Returns these settings with other choices where the published versions differ.
    #[must_use]
    pub fn with(self, centering: Centering, scope: Scope, semantics: Semantics) -> Self {
        Self { centering, scope, semantics, ..self }
    }

    pub(super) fn treatment(&self) -> Treatment {
        let Self { divergence, coefficient, .. } = *self;
        Treatment::Penalise(Penalty { divergence, coefficient, anchor: Anchor::Old })
    }
}

impl Visited for KlCov {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(&Treated { base: Plain, treatment: self.treatment() })
    }
}

impl<R: Real> PolicyMethod<R> for KlCov {
    /// The share of highest covariance. There is no test of the sign: with few tokens the highest covariance may be negative, and
    /// is penalised all the same.
    fn selection(&self) -> Option<Selection> {
        let Self { fraction, centering, scope, semantics, .. } = *self;
        Some(Selection { by: Order::Covariance(centering), fraction, scope, semantics })
    }
}

/// The surrogate `-r A` without any bound: [`Surrogate::PLAIN`](crate::surrogate::Surrogate::PLAIN) in fewer instructions.
pub(crate) struct Plain;

impl TokenLoss for Plain {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let value = -token.ratio * token.advantage;
        Scored::open(Term::exponential(value), false).flat_if(token.held)
    }
}
