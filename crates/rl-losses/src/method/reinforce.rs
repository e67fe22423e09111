//! REINFORCE and GPG: the score function alone.

use serde::{Deserialize, Serialize};

use crate::{
    fast::real::Real,
    method::policy_method::PolicyMethod,
    parameter::{ParameterError, Settings},
    term::{Scored, Term, Token, TokenLoss, Visitor},
};

/// `-A log π_θ`: REINFORCE, or GPG with its advantages. Off-policy it has no correction at all, unless
/// the plan's weights bring one ([`StepPlan::reweight`](crate::StepPlan::reweight)).
///
/// Source: Williams 1992; Chu et al. 2025, GPG, [Eq. 5](https://arxiv.org/abs/2504.02546).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct ScoreFunction {}

impl Settings for ScoreFunction {
    fn check(&self) -> Result<(), ParameterError> {
        Ok(())
    }
}

impl TokenLoss for ScoreFunction {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let term = Term::score_function(R::of(1.0), token.advantage, token.log_prob);
        Scored::open(term, token.log_ratio() != R::of(0.0))
    }
}

impl PolicyMethod for ScoreFunction {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(self)
    }
}
