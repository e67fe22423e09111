//! TOPR: positive samples as they are, negative ones by a ratio of at most 1.

use crate::{
    CorrectionLevel, PlanSummary, Real, Scored, Term, Token, TokenBatch, TokenLoss,
    fast::spread::Spread,
    method::{per_sequence::per_sequence, policy_method::PolicyMethod},
    parameter::settings,
    surrogate::{limited, limited_log_ratio},
};

settings! {
    /// `-w A log π_θ`, tapered off-policy REINFORCE: `w = positive` where the advantage is above 0, however far the policy has moved,
    /// and `w = negative · min(W, 1)` elsewhere, not differentiated.
    ///
    /// A negative sample that the policy has left already pushes no further; a positive one is learnt as in supervised training.
    /// The ratio `W` is that of the whole sequence as published; `level = "token"` takes each token's own.
    ///
    /// Default: both factors 1.
    ///
    /// Source: Le Roux et al. 2025, [Eq. 8](https://arxiv.org/abs/2503.14286); ROLL `pg_variant: topr` (by token).
    pub struct Topr {
        /// Factor for positive advantages.
        pub positive: f64 = 1.0, check_not_negative;
        /// Factor for the others.
        pub negative: f64 = 1.0, check_not_negative;
        /// Unit that the ratio is taken over: `"sequence"`, `"geometric"` or `"token"`.
        pub level: CorrectionLevel = CorrectionLevel::Sequence;
    }
}

impl Topr {
    /// Returns true if on-policy every sample weighs 1.
    pub(crate) fn is_inert_on_policy(&self) -> bool {
        [self.positive, self.negative].iter().all(|factor| (factor - 1.0).abs() < f64::EPSILON)
    }
}

impl TokenLoss for Topr {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let (zero, one) = (R::of(0.0), R::of(1.0));
        let ratio = limited(token.detached_log_ratio()).exp();
        let tapered = if self.level == CorrectionLevel::Token { ratio } else { token.constant };
        let positive = token.advantage > zero;
        let clipped = !positive & (tapered > one);
        let weight = if positive {
            R::of(self.positive)
        } else {
            R::of(self.negative) * tapered.lesser(one)
        };
        let term = Term::score_function(weight, token.advantage, token.log_prob);
        Scored { clipped, ..Scored::open(term, weight != ratio) }
    }

    limited_log_ratio!();
}

impl<R: Real> PolicyMethod<R> for Topr {
    /// Ratio of each sequence; none is needed by token.
    fn constants(&self, batch: &TokenBatch<'_, R>, _: &PlanSummary) -> Spread {
        let over = |finish: fn(f64, f64) -> f64| {
            let ratio = |taken, _, length| limited(finish(taken, length)).exp();
            per_sequence(batch, |log_ratio, _| log_ratio, ratio)
        };
        match self.level {
            CorrectionLevel::Token => Spread::Uniform(1.0),
            CorrectionLevel::Sequence => over(|total, _| total),
            CorrectionLevel::Geometric => over(|total, length| total / length),
        }
    }
}
