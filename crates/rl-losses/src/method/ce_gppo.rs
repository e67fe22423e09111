//! CE-GPPO: clipped tokens keep a bounded gradient.

use crate::{
    Real, Scored, Term, Token, TokenLoss,
    parameter::settings,
    surrogate::{Surrogate, limited_log_ratio},
};

settings! {
    /// The clipped surrogate whose clipped tokens keep the gradient of `-β · bound · r/sg(r) · A`: the
    /// bound in place of the ratio, times `β₁` below the region and `β₂` above it.
    ///
    /// Tokens clipped from above raise the entropy, those clipped from below lower it; the two
    /// coefficients trade one for the other.
    ///
    /// Default: `β₁ = 0.75`, `β₂ = 1` of the paper's range (0.5 to 0.75, and 1), over clip-higher.
    ///
    /// Source: Su et al. 2025, [Eq. 7](https://arxiv.org/abs/2509.20712).
    pub struct CeGppo {
        /// Factor `β₁` on the gradient below the region, for negative advantages.
        pub beta_low: f64 = 0.75, check_not_negative;
        /// Factor `β₂` on the gradient above the region, for positive advantages.
        pub beta_high: f64 = 1.0, check_not_negative;
        /// Largest fall of the ratio below 1.
        pub clip_ratio_low: f64 = 0.2, check_not_negative;
        /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
        pub clip_ratio_high: f64 = 0.28, check_not_negative;
    }
}

impl TokenLoss for CeGppo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let scored = Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high).score(token);
        let beta = R::of(if token.advantage > R::of(0.0) { self.beta_high } else { self.beta_low });
        // The flat value is that of the bound; the ratio over itself carries the gradient.
        let carried = (token.log_prob - token.detached_log_prob).exp();
        let kept = Term::exponential(beta * scored.term.value * carried);
        Scored { term: if scored.clipped { kept } else { scored.term }, ..scored }
    }

    limited_log_ratio!();
}
