//! DRO: a quadratic pull to the old policy.

use serde::{Deserialize, Serialize};

use crate::{
    fast::real::Real,
    method::policy_method::{PolicyMethod, Visitor},
    parameter::{ParameterError, Settings, check_not_negative, checked_when_read},
    term::{Scored, Term, Token, TokenLoss},
};

/// `-(A log π_θ - β/2 (log r)²)`: direct reward optimisation, a quadratic pull to the old policy on
/// every token.
///
/// Default: `β = 0.05`; there is no published one (verl asks for it).
///
/// Source: Richemond et al. 2024, DRO, [Eq. 6](https://arxiv.org/abs/2405.19107); verl `dro`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(!remote))]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct Dro {
    /// Strength of the pull to the old policy, reward per squared nat.
    pub beta: f64,
}

impl Default for Dro {
    fn default() -> Self {
        Self { beta: 0.05 }
    }
}

impl Settings for Dro {
    fn check(&self) -> Result<(), ParameterError> {
        check_not_negative("beta", self.beta).map(drop)
    }
}

impl TokenLoss for Dro {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let (x, beta) = (token.log_ratio(), R::of(self.beta));
        let pull = Term { value: R::of(0.5) * beta * x * x, d_log_prob: beta * x };
        let term = Term::score_function(R::of(1.0), token.advantage, token.log_prob).plus(pull);
        Scored::open(term, x != R::of(0.0))
    }
}

impl PolicyMethod for Dro {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}

checked_when_read!(Dro);
