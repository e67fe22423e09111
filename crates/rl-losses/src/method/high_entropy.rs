//! The 80/20 rule: learn from the tokens of highest entropy only.

use crate::{
    Real, Scope, Scored, Semantics, Token, TokenLoss,
    method::policy_method::PolicyMethod,
    parameter::settings,
    selection::{Order, Selection},
    surrogate::{Surrogate, limited_log_ratio},
};

settings! {
    /// The clipped surrogate of the share of tokens whose entropy is highest; the others have no value and
    /// no gradient, but stay in the denominator. Needs the column `entropy`.
    ///
    /// Selected are the tokens that stay.
    ///
    /// Default: a share of 0.2 over clip-higher, as published.
    ///
    /// Source: Wang et al. 2025, [Eq. 6](https://arxiv.org/abs/2506.01939); TRL `top_entropy_quantile`.
    pub struct HighEntropy {
        /// Share of the tokens that keep their gradient, above 0, at most 1.
        pub fraction: f64 = 0.2, check_fraction;
        /// Largest fall of the ratio below 1.
        pub clip_ratio_low: f64 = 0.2, check_not_negative;
        /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
        pub clip_ratio_high: f64 = 0.28, check_not_negative;
        /// Tokens that are selected from; a trainer refuses `"micro-batch"`. With it, as in older
        /// codes, the algorithm would depend on memory.
        pub scope: Scope = Scope::MiniBatch;
    }
}

impl TokenLoss for HighEntropy {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let scored = Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high).score(token);
        if token.selected { scored } else { Scored::dropped() }
    }

    limited_log_ratio!();
}

impl<R: Real> PolicyMethod<R> for HighEntropy {
    /// The share of highest entropy.
    fn selection(&self) -> Option<Selection> {
        let (fraction, scope, semantics) = (self.fraction, self.scope, Semantics::Exact);
        Some(Selection { by: Order::Entropy, fraction, scope, semantics })
    }
}
