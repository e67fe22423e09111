//! Treatments of the tokens that a selection singles out.

use serde::{Deserialize, Serialize};

use crate::{
    Column, KlEstimator, ParameterError, Real, Scored, Sources, Term, Token, TokenLoss,
    parameter::{Settings, settings},
};

/// Policy whose log-probability a penalty pulls to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Anchor {
    /// The policy before the first update: the published methods. Inert until the policy has moved.
    #[default]
    Old,
    /// The frozen reference (column `reference_log_prob`): acts on-policy too.
    Reference,
    /// The policy as sampled (column `rollout_log_prob`).
    Rollout,
}

impl Anchor {
    /// The column it needs.
    pub(crate) fn column(self) -> Option<Column> {
        match self {
            Self::Old => None,
            Self::Reference => Some(Column::ReferenceLogProb),
            Self::Rollout => Some(Column::RolloutLogProb),
        }
    }
}

settings! {
    /// `coefficient` times an estimator of the divergence from an [`Anchor`].
    pub struct Penalty {
        /// The penalty's shape in `log π_θ - log π_anchor`; the published codes have `abs` (row 8).
        pub divergence: KlEstimator = KlEstimator::Abs;
        /// Its weight, reward per nat; not negative.
        pub coefficient: f64 = 1.0, check_not_negative;
        /// Policy that the penalty pulls to.
        pub anchor: Anchor = Anchor::Old;
    }
}

settings! {
    /// A factor on value and gradient.
    pub struct Reweight required {
        /// The factor; not negative.
        pub factor: f64, check_not_negative;
    }
}

/// Treatment of a selected token.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Treatment {
    /// No value and no gradient; the token stays in the denominator (Clip-Cov, row 5).
    Drop,
    /// The value stays, the gradient goes: Clip-Cov as the paper's listing has it.
    Detach,
    /// A penalty on its move (KL-Cov).
    Penalise(Penalty),
    /// A smaller or larger weight.
    Reweight(Reweight),
}

impl Settings for Treatment {
    fn check(&self) -> Result<(), ParameterError> {
        match self {
            Self::Penalise(penalty) => penalty.check(),
            Self::Reweight(reweight) => reweight.check(),
            Self::Drop | Self::Detach => Ok(()),
        }
    }
}

impl Treatment {
    /// The column it needs.
    pub(crate) fn column(self) -> Option<Column> {
        match self {
            Self::Penalise(penalty) => penalty.anchor.column(),
            Self::Drop | Self::Detach | Self::Reweight(_) => None,
        }
    }

    /// Returns true if a selected token has the gradient of any other where the ratio is 1.
    pub(crate) fn is_inert_on_policy(self) -> bool {
        match self {
            // k1 pulls with the same force wherever the token is.
            Self::Penalise(penalty) => {
                penalty.anchor == Anchor::Old && penalty.divergence != KlEstimator::K1
            }
            Self::Drop | Self::Detach | Self::Reweight(_) => false,
        }
    }
}

/// A surrogate whose selected tokens are treated. The token's constant is `log π_old - log π_anchor`, 0 where the anchor is the old
/// policy.
pub(crate) struct Treated<B> {
    pub(crate) base: B,
    pub(crate) treatment: Treatment,
}

impl<B: TokenLoss> TokenLoss for Treated<B> {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let scored = self.base.score(token);
        if !token.selected {
            return scored;
        }
        match self.treatment {
            Treatment::Drop => Scored::dropped(),
            Treatment::Detach => {
                let limit = R::of(self.log_ratio_limit().unwrap_or(f64::INFINITY));
                let ratio = token.detached_log_ratio().held(-limit, limit).exp();
                let still = Token { log_prob: token.detached_log_prob, ratio, ..*token };
                Scored::open(Term::flat(self.base.score(&still).term.value), true)
            }
            Treatment::Penalise(Penalty { divergence, coefficient, .. }) => {
                let moved = (token.log_ratio() + token.constant).to_f64();
                let Term { value, d_log_prob } = divergence.term(moved).times(coefficient);
                let penalty = Term { value: R::of(value), d_log_prob: R::of(d_log_prob) };
                let altered = scored.altered | (penalty.d_log_prob != R::of(0.0));
                Scored { term: scored.term.plus(penalty), altered, ..scored }
            }
            Treatment::Reweight(Reweight { factor }) => {
                Scored { term: scored.term.times(R::of(factor)), altered: true, ..scored }
            }
        }
    }

    #[inline(always)]
    fn constant(&self, sources: Sources) -> f64 {
        sources.old_log_prob - sources.column
    }

    fn log_ratio_limit(&self) -> Option<f64> {
        self.base.log_ratio_limit()
    }
}
