//! CISPO: clip the weight, keep every token's gradient.

use crate::{
    Real, Scored, Term, Token, TokenLoss,
    parameter::settings,
    surrogate::{limited, limited_log_ratio},
};

settings! {
    /// `-w A log π_θ` with the ratio, clipped and not differentiated, as its weight:
    /// `w = clip(r, 1 - low, 1 + high)`.
    ///
    /// Default: no lower bound and at most 5, as tuned by `ScaleRL` (arXiv:2510.13786); a bound from below
    /// only keeps gradients of tokens that are gone already.
    ///
    /// Source: `MiniMax` 2025, [Eq. 4](https://arxiv.org/abs/2506.13585).
    pub struct Cispo {
        /// Largest fall of the weight, the clipped ratio, below 1.
        pub clip_ratio_low: f64 = 1.0, check_not_negative;
        /// Largest rise of the weight, the clipped ratio, above 1.
        pub clip_ratio_high: f64 = 4.0, check_not_negative;
    }
}

impl TokenLoss for Cispo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let ratio = limited(token.detached_log_ratio()).exp();
        let (low, high) = (R::of(1.0 - self.clip_ratio_low), R::of(1.0 + self.clip_ratio_high));
        let weight = ratio.held(low, high);
        let clipped = weight != ratio;
        let term = Term::score_function(weight, token.advantage, token.log_prob);
        Scored { clipped, ..Scored::open(term, clipped) }
    }

    limited_log_ratio!();
}
