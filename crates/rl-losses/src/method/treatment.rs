//! Treatments of the tokens that a selection singles out.

use serde::{Deserialize, Serialize};

use crate::{
    batch::Column,
    fast::real::Real,
    kl::KlEstimator,
    parameter::{ParameterError, Settings, check_not_negative, checked_when_read, settings},
    surrogate::Surrogate,
    term::{Scored, Sources, Term, Token, TokenLoss},
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

/// A factor on value and gradient.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!remote))]
#[serde(remote = "Self", deny_unknown_fields)]
pub struct Reweight {
    /// The factor; not negative.
    pub factor: f64,
}

impl Settings for Reweight {
    fn check(&self) -> Result<(), ParameterError> {
        check_not_negative("factor", self.factor).map(drop)
    }
}

checked_when_read!(Reweight);

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

/// Selected tokens with value, without gradient.
pub(crate) struct Detaching(pub(crate) Surrogate);

impl TokenLoss for Detaching {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        if token.selected {
            let ratio = self.0.ratio(token.detached_log_ratio());
            let still = Token { log_prob: token.detached_log_prob, ratio, ..*token };
            Scored::open(Term::flat(self.0.score(&still).term.value), true)
        } else {
            self.0.score(token)
        }
    }

    fn log_ratio_limit(&self) -> Option<f64> {
        self.0.log_ratio_limit()
    }
}

/// Selected tokens weighed by a factor.
pub(crate) struct Reweighing {
    pub(crate) base: Surrogate,
    pub(crate) factor: f64,
}

impl TokenLoss for Reweighing {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let scored = self.base.score(token);
        let weighed =
            Scored { term: scored.term.times(R::of(self.factor)), altered: true, ..scored };
        if token.selected { weighed } else { scored }
    }

    fn log_ratio_limit(&self) -> Option<f64> {
        self.base.log_ratio_limit()
    }
}

/// Selected tokens penalised; the token's constant is `log π_old - log π_anchor`, 0 where the anchor is the old policy.
pub(crate) struct Penalising<B> {
    pub(crate) base: B,
    pub(crate) penalty: Penalty,
}

impl<B: TokenLoss> TokenLoss for Penalising<B> {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let scored = self.base.score(token);
        if !token.selected {
            return scored;
        }
        let moved = (token.log_ratio() + token.constant).to_f64();
        let penalty = self.penalty.divergence.term(moved).times(self.penalty.coefficient);
        let penalty = Term { value: R::of(penalty.value), d_log_prob: R::of(penalty.d_log_prob) };
        let altered = scored.altered | (penalty.d_log_prob != R::of(0.0));
        Scored { term: scored.term.plus(penalty), altered, ..scored }
    }

    #[inline(always)]
    fn constant(&self, sources: Sources) -> f64 {
        sources.old_log_prob - sources.column
    }

    fn log_ratio_limit(&self) -> Option<f64> {
        self.base.log_ratio_limit()
    }
}
