//! REINFORCE and GPG: the score function alone.

use crate::{Real, Scored, Term, Token, TokenLoss, parameter::settings};

settings! {
    /// `-A log π_θ`: REINFORCE, or GPG with its advantages. Off-policy it has no correction at all, unless
    /// the plan's weights bring one ([`StepPlan::reweight`](crate::StepPlan::reweight)).
    ///
    /// Source: Williams 1992; Chu et al. 2025, GPG, [Eq. 5](https://arxiv.org/abs/2504.02546).
    pub struct ScoreFunction {}
}

impl TokenLoss for ScoreFunction {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let term = Term::score_function(R::of(1.0), token.advantage, token.log_prob);
        Scored::open(term, token.log_ratio() != R::of(0.0))
    }
}
