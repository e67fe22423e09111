//! VESPO: a smooth weight of the sequence's ratio.

use crate::{
    PlanSummary, Real, Scored, Term, Token, TokenBatch, TokenLoss,
    fast::spread::Spread,
    method::{per_sequence::per_sequence, policy_method::PolicyMethod},
    parameter::settings,
    surrogate::{LOG_RATIO_LIMIT, limited, limited_log_ratio},
};

/// Smallest ratio of a sequence; a smaller one counts as this.
const SMALLEST_RATIO: f64 = 1e-8;

settings! {
    /// `-φ(W) A log π_θ` with the ratio of the whole sequence, `W = exp(Σ log r)`, and a weight that is not differentiated:
    ///
    /// ```text
    /// φ(W) = W^k e^(λ (1 - W)),    φ(1) = 1,    largest at W = k / λ
    /// ```
    ///
    /// In place of a clip, sequences far from the old policy fade out on both sides, rising ones more slowly where the advantage is
    /// positive. A token's log-ratio is held to ±20 nats, a sequence's ratio to `1e-8..e^20`.
    ///
    /// Default: `k = 2`, `λ = 3` for advantages of 0 or above and `k = 3`, `λ = 2` below, as published.
    ///
    /// Source: [arXiv:2602.10693](https://arxiv.org/abs/2602.10693); TRL `loss_type = "vespo"`.
    pub struct Vespo {
        /// Power `k` of the ratio for advantages of 0 or above.
        pub power_positive: f64 = 2.0, check_not_negative;
        /// Decay `λ` of the weight for advantages of 0 or above.
        pub decay_positive: f64 = 3.0, check_not_negative;
        /// Power `k` of the ratio for negative advantages.
        pub power_negative: f64 = 3.0, check_not_negative;
        /// Decay `λ` of the weight for negative advantages.
        pub decay_negative: f64 = 2.0, check_not_negative;
    }
}

impl TokenLoss for Vespo {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let zero = R::of(0.0);
        let (power, decay) = if token.advantage < zero {
            (self.power_negative, self.decay_negative)
        } else {
            (self.power_positive, self.decay_positive)
        };
        let log_ratio = token.constant;
        let exponent = R::of(decay) * (R::of(1.0) - log_ratio.exp()) + R::of(power) * log_ratio;
        let term = Term::score_function(exponent.exp(), token.advantage, token.log_prob);
        // On-policy both ratios are 1, and so is the weight.
        Scored::open(term, (log_ratio != zero) | (token.detached_log_ratio() != zero))
    }

    limited_log_ratio!();
}

impl<R: Real> PolicyMethod<R> for Vespo {
    /// Log-ratio of each sequence, in nats, within the bounds.
    fn constants(&self, batch: &TokenBatch<'_, R>, _: &PlanSummary) -> Spread {
        per_sequence(
            batch,
            |log_ratio, _| limited(log_ratio),
            |total, _, _| total.clamp(SMALLEST_RATIO.ln(), LOG_RATIO_LIMIT),
        )
    }
}
