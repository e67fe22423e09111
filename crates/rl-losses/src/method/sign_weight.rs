//! Positive and negative samples, weighed apart.

use crate::{
    Real, Scored, Token, TokenLoss,
    parameter::settings,
    surrogate::{Surrogate, limited_log_ratio},
};

settings! {
    /// The clipped surrogate times a factor by the sign of the advantage: negative samples alone (NSR)
    /// keep the entropy, positive ones alone (PSR) spend it.
    ///
    /// Default: weighted REINFORCE, `λ = 0.1` on positive samples, with PPO's clip.
    ///
    /// Source: Zhu et al. 2025, [Sec. 5](https://arxiv.org/abs/2506.01347); lower weights of positive
    /// advantages also in arXiv:2511.05993.
    pub struct SignWeight {
        /// Factor for positive advantages.
        pub positive: f64 = 0.1, check_not_negative;
        /// Factor for negative advantages.
        pub negative: f64 = 1.0, check_not_negative;
        /// Largest fall of the ratio below 1.
        pub clip_ratio_low: f64 = 0.2, check_not_negative;
        /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
        pub clip_ratio_high: f64 = 0.2, check_not_negative;
    }
}

impl TokenLoss for SignWeight {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let surrogate = Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high);
        let positive = token.advantage > R::of(0.0);
        let factor = if positive { self.positive } else { self.negative };
        surrogate.score(token).times(R::of(factor))
    }

    limited_log_ratio!();
}
