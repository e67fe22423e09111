//! SAPO: a smooth gate in place of the clip.

use crate::{
    Real, Scored, Term, Token, TokenLoss, parameter::settings, surrogate::limited_log_ratio,
};

settings! {
    /// `-g(r) A` with the gate `g(r) = 4/τ · σ(τ (r - 1))`, its own temperature for each sign of the
    /// advantage. The gate has slope 1 at `r = 1` and levels off on both sides.
    ///
    /// Default: the paper's temperatures, 1 and 1.05 (negative advantages fade sooner, as they spread over
    /// the whole vocabulary).
    ///
    /// Source: Gao et al. 2025, [Eq. 6](https://arxiv.org/abs/2511.20347).
    pub struct Sapo {
        /// Temperature of the gate for positive advantages, above 0.
        pub temperature_positive: f64 = 1.0, check_positive;
        /// Temperature of the gate elsewhere, above 0.
        pub temperature_negative: f64 = 1.05, check_positive;
    }
}

impl TokenLoss for Sapo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let (one, four) = (R::of(1.0), R::of(4.0));
        let (x, ratio) = (token.log_ratio(), token.ratio);
        let positive = token.advantage > R::of(0.0);
        let (tau, scale) = if positive {
            (R::of(self.temperature_positive), R::of(4.0 / self.temperature_positive))
        } else {
            (R::of(self.temperature_negative), R::of(4.0 / self.temperature_negative))
        };
        // σ and 1 - σ from e^-|z|, which does not overflow.
        let z = tau * (ratio - one);
        let tail = (-z.magnitude()).exp();
        let share = one / (one + tail);
        let (sigma, complement) =
            if z > R::of(0.0) { (share, tail * share) } else { (tail * share, share) };
        let slope = -four * sigma * complement * ratio * token.advantage;
        let term = Term {
            value: -scale * sigma * token.advantage,
            d_log_prob: if token.held { R::of(0.0) } else { slope },
        };
        Scored::open(term, x != R::of(0.0))
    }

    limited_log_ratio!();
}
