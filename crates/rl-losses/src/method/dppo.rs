//! DPPO: a trust region in probability, not in the ratio.

use crate::{
    Real, Scored, Term, Token, TokenLoss,
    parameter::settings,
    surrogate::{limited, limited_log_ratio},
};

/// Keeps probabilities away from 1 where a logarithm is taken of the rest.
const REST: f64 = 1e-8;

settings! {
    /// `-w A log π_θ` with `w = min(r, ceiling)` not differentiated, and nothing where the token's
    /// probability has moved by more than a bound in the direction its advantage pushes it: total
    /// variation, `|π - π_old|`.
    ///
    /// Rare tokens may multiply their probability, frequent ones are limited: the reverse of a clipped ratio.
    ///
    /// Default: the paper's bound of 0.2; the ceiling of 20 of verl's function; no pull. The preset `dppo-tv-squared` has
    /// prime-rl's, 1e-3.
    ///
    /// Source: Qi et al. 2026, [arXiv:2602.04879](https://arxiv.org/abs/2602.04879); verl `dppo_tv`; the pull: Kimi-K2.5,
    /// [arXiv:2602.02276](https://arxiv.org/abs/2602.02276), prime-rl's default loss (row 53 of `docs/paper-vs-code.md`).
    pub struct DppoTv {
        /// Largest fall of a token's probability.
        pub divergence_low: f64 = 0.2, check_not_negative;
        /// Largest rise of a token's probability.
        pub divergence_high: f64 = 0.2, check_not_negative;
        /// Largest ratio that counts, above 1.
        pub ratio_ceiling: f64 = 20.0, check_above_one;
        /// Weight of `(log r)²`, reward per squared nat, a pull to the old policy on every token, those left out too.
        pub pull: f64 = 0.0, check_not_negative;
    }
}

settings! {
    /// Like [`DppoTv`], with the KL divergence of the token against all others,
    /// `π_old ln(π_old/π) + (1 - π_old) ln((1 - π_old)/(1 - π))`, in nats.
    ///
    /// Default: the paper's bound of 0.05 nats.
    ///
    /// Source: as of [`DppoTv`]; verl `dppo_kl`.
    pub struct DppoKl {
        /// Bound on the divergence of a token that falls, in nats.
        pub divergence_low: f64 = 0.05, check_not_negative;
        /// Bound on the divergence of a token that rises, in nats.
        pub divergence_high: f64 = 0.05, check_not_negative;
        /// Largest ratio that counts, above 1.
        pub ratio_ceiling: f64 = 20.0, check_above_one;
    }
}

/// The weighted score function, or nothing if the token has `left` its region.
#[inline(always)]
fn masked<R: Real>(token: &Token<R>, left: bool, ceiling: f64) -> Scored<R> {
    let ratio = limited(token.detached_log_ratio()).exp();
    let weight = ratio.lesser(R::of(ceiling));
    let term = Term::score_function(weight, token.advantage, token.log_prob);
    let held = ratio != weight;
    Scored {
        term: if left { Term::flat(R::of(0.0)) } else { term },
        clipped: left,
        ceiling: held & !left,
        altered: left | held,
    }
}

impl TokenLoss for DppoTv {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let zero = R::of(0.0);
        let moved = token.detached_log_prob.exp() - token.old_log_prob.exp();
        let above = (token.advantage > zero) & (moved > R::of(self.divergence_high));
        let below = (token.advantage < zero) & (moved < R::of(-self.divergence_low));
        let scored = masked(token, above | below, self.ratio_ceiling);
        let (x, pull) = (token.log_ratio(), R::of(self.pull));
        let term = Term { value: pull * x * x, d_log_prob: R::of(2.0) * pull * x };
        let altered = scored.altered | (term.d_log_prob != zero);
        Scored { term: scored.term.plus(term), altered, ..scored }
    }

    limited_log_ratio!();
}

impl TokenLoss for DppoKl {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let zero = R::of(0.0);
        let divergence = binary_kl(token.old_log_prob.to_f64(), token.detached_log_prob.to_f64());
        let x = token.detached_log_ratio();
        let above = (token.advantage > zero) & (x > zero) & (divergence > self.divergence_high);
        let below = (token.advantage < zero) & (x < zero) & (divergence > self.divergence_low);
        masked(token, above | below, self.ratio_ceiling)
    }

    limited_log_ratio!();
}

/// KL divergence between two distributions over "this token" and "any other", in nats.
fn binary_kl(old_log_prob: f64, log_prob: f64) -> f64 {
    let (old, new) = (old_log_prob.exp(), log_prob.exp());
    let rest = |prob: f64| (1.0 - prob).max(REST).ln();
    // A token of no probability before diverges by nothing, however far its logarithm is.
    let this_token = if old > 0.0 { old * (old_log_prob - log_prob) } else { 0.0 };
    this_token + (1.0 - old) * (rest(old) - rest(new))
}
