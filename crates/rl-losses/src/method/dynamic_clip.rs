//! DCPO: clip bounds that depend on how likely the token was.

use crate::{
    Real, Scored, Token, TokenLoss,
    parameter::settings,
    surrogate::{clipped_at, limited, limited_log_ratio},
};

settings! {
    /// The clipped surrogate with bounds from the old probability `q`,
    ///
    /// ```text
    /// [ 1/2 + 1/2 √max(1 - 4 ε_low / q, 0),  1/2 + 1/2 √(1 + 4 ε_high / q) ]
    /// ```
    ///
    /// wide for rare tokens, the narrower the likelier; no ratio counts for more than the ceiling.
    ///
    /// Default: the paper's 0.16 and 0.2, ceiling 10.
    ///
    /// Source: Yang et al. 2025, [Eq. 8](https://arxiv.org/abs/2509.02333).
    pub struct DynamicClip {
        /// Bound `ε_low`, from which each token's own follows.
        pub clip_ratio_low: f64 = 0.16, check_not_negative;
        /// Bound `ε_high`, from which each token's own follows.
        pub clip_ratio_high: f64 = 0.2, check_not_negative;
        /// Largest ratio that counts, for either sign of the advantage, above 1.
        pub ratio_ceiling: f64 = 10.0, check_above_one;
    }
}

impl TokenLoss for DynamicClip {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let (zero, half, one) = (R::of(0.0), R::of(0.5), R::of(1.0));
        // 1/q, far from overflow: beyond e^20 the bounds are at the ceiling and at 1/2.
        let inverse = (-limited(token.old_log_prob)).exp();
        let low =
            half + half * (one - R::of(4.0 * self.clip_ratio_low) * inverse).greater(zero).sqrt();
        let ceiling = R::of(self.ratio_ceiling);
        let high = (half + half * (one + R::of(4.0 * self.clip_ratio_high) * inverse).sqrt())
            .lesser(ceiling);
        clipped_at(token.ratio, token.advantage, [low, high, ceiling]).flat_if(token.held)
    }

    limited_log_ratio!();
}
