//! DRO: a quadratic pull to the old policy.

use crate::{Real, Scored, Term, Token, TokenLoss, parameter::settings};

settings! {
    /// `-(A log π_θ - β/2 (log r)²)`: direct reward optimisation, a quadratic pull to the old policy on
    /// every token.
    ///
    /// Default: `β = 0.05`; there is no published one (verl asks for it).
    ///
    /// Source: Richemond et al. 2024, DRO, [Eq. 6](https://arxiv.org/abs/2405.19107); verl `dro`.
    pub struct Dro {
        /// Strength of the pull to the old policy, reward per squared nat.
        pub beta: f64 = 0.05, check_not_negative;
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
