//! GSPO: the clipped surrogate of the sequence's ratio.

use crate::{
    ClipRange, PlanSummary, Real, Scored, Term, Token, TokenBatch, TokenLoss,
    fast::spread::Spread,
    method::{per_sequence::per_sequence, policy_method::PolicyMethod},
    parameter::settings,
    surrogate::Surrogate,
};

/// Log of the token's ratio beyond which it is held, in nats (verl).
const CAP: f64 = 10.0;

settings! {
    /// Clipped surrogate of the sequence's ratio, `s_i = exp(mean log r)` over its tokens; each token's own
    /// ratio carries its gradient: `s_i · r_t / sg(r_t)`.
    ///
    /// The mean is over the sequence as planned, so a sequence may be split between evaluations. The
    /// published aggregation is `seq-mean-token-mean`; with `seq-mean-token-sum` the gradient is that of LUSPO
    /// ([arXiv:2602.05261](https://arxiv.org/abs/2602.05261)), which weighs a sequence by its length.
    ///
    /// Default: the paper's bounds, `3e-4` and `4e-4`.
    ///
    /// Source: Zheng et al. 2025, [Eq. 5](https://arxiv.org/abs/2507.18071), GSPO-token of its Sec. 4.3.
    pub struct Gspo {
        /// Largest fall of the sequence's ratio below 1.
        pub clip_ratio_low: f64 = 3e-4, check_not_negative;
        /// Largest rise of the sequence's ratio above 1.
        pub clip_ratio_high: f64 = 4e-4, check_not_negative;
    }
}

impl TokenLoss for Gspo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let cap = R::of(CAP);
        let log_ratio = token.constant + (token.log_prob - token.detached_log_prob);
        let clip = ClipRange { low: self.clip_ratio_low, high: self.clip_ratio_high };
        let mut scored = Surrogate::of(clip).at_ratio(log_ratio.lesser(cap).exp(), token.advantage);
        if log_ratio > cap {
            scored.term = Term::flat(scored.term.value);
        }
        // The sequence's ratio stands for the token's: another slope wherever they differ.
        scored.altered |= token.constant != token.detached_log_ratio();
        scored
    }
}

impl<R: Real> PolicyMethod<R> for Gspo {
    /// Mean log-ratio of each sequence, in nats.
    fn constants(&self, batch: &TokenBatch<'_, R>, _: &PlanSummary) -> Spread {
        per_sequence(batch, |log_ratio, _| log_ratio, |total, _, length| total / length)
    }
}
