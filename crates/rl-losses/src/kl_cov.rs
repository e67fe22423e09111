//! KL-Cov: penalise the move of the tokens of highest covariance.

use serde::{Deserialize, Serialize};

use crate::{
    Anchor, Base, Centering, CovarianceControl, KlEstimator, ParameterError, Penalty, PlanError,
    PolicyLoss, Real, Scope, Select, Semantics, Serial, TokenBatch, Treatment,
    parameter::{check_fraction, check_not_negative},
    plan::marks,
    ranking::Ranking,
    settings::{Settings, checked_when_read},
};

/// The unclipped surrogate `-r A`, plus `coefficient · |log r|` on the tokens of highest
/// covariance.
///
/// The penalty is the absolute log-ratio to the policy before the update, not a KL divergence: row
/// 8 of `docs/paper-vs-code.md`. It is inert where the ratio is 1, so KL-Cov needs at least two
/// updates per rollout batch. Another penalty or anchor is set by
/// [`CovarianceControl`].
///
/// Default: the paper's 7B script, `fraction = 2e-3`, `coefficient = 1` (row 9).
///
/// Source: arXiv:2505.22617, Eqs. 13 and 14.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct KlCov {
    pub(crate) fraction: f64,
    pub(crate) coefficient: f64,
    pub(crate) divergence: KlEstimator,
    pub(crate) centering: Centering,
    pub(crate) scope: Scope,
    pub(crate) semantics: Semantics,
}

impl KlCov {
    pub(crate) const DEFAULT: Self = Self {
        fraction: 2e-3,
        coefficient: 1.0,
        divergence: KlEstimator::Abs,
        centering: Centering::Batch,
        scope: Scope::MiniBatch,
        semantics: Semantics::Exact,
    };
}

impl Default for KlCov {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Settings for KlCov {
    fn check(&self) -> Result<(), ParameterError> {
        check_fraction("fraction", self.fraction)?;
        check_not_negative("coefficient", self.coefficient).map(drop)
    }
}

checked_when_read!(KlCov);

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

    /// The same with another shape of penalty.
    #[must_use]
    pub fn with_divergence(self, divergence: KlEstimator) -> Self {
        Self { divergence, ..self }
    }

    /// The same with other choices where the published versions differ.
    #[must_use]
    pub fn with(self, centering: Centering, scope: Scope, semantics: Semantics) -> Self {
        Self { centering, scope, semantics, ..self }
    }

    /// Share of all tokens to penalise, above 0 and at most 1; never a percentage (row 2).
    pub fn fraction(&self) -> f64 {
        self.fraction
    }

    /// Coefficient of the penalty, reward per nat.
    pub fn coefficient(&self) -> f64 {
        self.coefficient
    }

    /// The composition this is.
    pub fn control(&self) -> CovarianceControl {
        let Self { fraction, coefficient, divergence, centering, scope, semantics } = *self;
        CovarianceControl {
            fraction,
            select: Select::Top,
            treatment: Treatment::Penalise(Penalty {
                divergence,
                coefficient,
                anchor: Anchor::Old,
            }),
            base: Base::Unclipped,
            centering,
            scope,
            semantics,
        }
    }

    /// Marks the tokens of highest covariance: a share of all tokens, but at least one. Ties go to
    /// the earlier token.
    ///
    /// There is no test of the sign: with few tokens the highest covariance may be negative, and is
    /// marked all the same. Scope: `batch` is the mini-batch, as the covariance is centred over it
    /// (row 1 of `docs/paper-vs-code.md`).
    ///
    /// # Errors
    ///
    /// [`PlanError`] if the batch lacks a column, or the micro-batches, that this needs.
    pub fn select<R: Real>(&self, batch: &TokenBatch<'_, R>) -> Result<Vec<bool>, PlanError> {
        PolicyLoss::KlCov(*self).check(batch)?;
        let selected = Ranking::of_covariance(self.control()).select(&Serial, batch, 0);
        Ok(marks(&selected, batch.len()))
    }
}
