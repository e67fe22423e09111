//! GMPO: the geometric mean of the ratios of a sequence.

use crate::{
    PlanSummary, Real, Scored, Term, Token, TokenBatch, TokenLoss,
    fast::spread::Spread,
    method::{per_sequence::per_sequence, policy_method::PolicyMethod},
    parameter::settings,
};

settings! {
    /// Minus the sequence's mean advantage times the geometric mean of its tokens' ratios, each clipped in
    /// the log on the side its advantage pushes it to.
    ///
    /// A token's value is that of its sequence, so that `seq-mean-token-mean`, the published aggregation,
    /// gives the published loss.
    ///
    /// Default: the paper's bounds, 0.4 nats on both sides.
    ///
    /// Source: Zhao et al. 2025, [Eq. 4](https://arxiv.org/abs/2507.20673).
    pub struct Gmpo {
        /// Largest fall of a log-ratio below 0, in nats.
        pub clip_ratio_low: f64 = 0.4, check_not_negative;
        /// Largest rise of a log-ratio above 0, in nats.
        pub clip_ratio_high: f64 = 0.4, check_not_negative;
    }
}

impl Gmpo {
    /// The log-ratio as it counts, and whether a bound holds it.
    #[inline(always)]
    fn clipped<R: Real>(&self, log_ratio: R, advantage: R) -> (R, bool) {
        let (zero, low, high) =
            (R::of(0.0), R::of(-self.clip_ratio_low), R::of(self.clip_ratio_high));
        let counted = if advantage > zero {
            log_ratio.lesser(high)
        } else if advantage < zero {
            log_ratio.greater(low)
        } else {
            zero
        };
        (counted, counted != log_ratio)
    }
}

impl TokenLoss for Gmpo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let (live, clipped) = self.clipped(token.log_ratio(), token.advantage);
        let (detached, _) = self.clipped(token.detached_log_ratio(), token.advantage);
        let value = token.constant * (live - detached).exp();
        let pushed = token.advantage != R::of(0.0);
        let term = if clipped | !pushed { Term::flat(value) } else { Term::exponential(value) };
        // On-policy the slope is the plain one if the sequence has one advantage, to rounding.
        let excess = (token.constant + token.advantage).magnitude();
        let altered = excess > R::of(1e-6) * token.advantage.magnitude();
        Scored { clipped: clipped & pushed, ..Scored::open(term, altered | clipped) }
    }
}

impl<R: Real> PolicyMethod<R> for Gmpo {
    /// `-mean A · exp(mean clipped log r)` of each sequence.
    fn constants(&self, batch: &TokenBatch<'_, R>, _: &PlanSummary) -> Spread {
        per_sequence(
            batch,
            |log_ratio, advantage| self.clipped(log_ratio, advantage).0,
            |taken, advantage, length| -(advantage / length) * (taken / length).exp(),
        )
    }
}
