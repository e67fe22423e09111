//! STEER: weigh tokens by how much they change the entropy.

use std::iter::zip;

use crate::{
    Column, PlanSummary, Real, Scored, Sources, Token, TokenBatch, TokenLoss,
    fast::spread::Spread,
    method::policy_method::PolicyMethod,
    parameter::settings,
    surrogate::{Surrogate, limited, limited_log_ratio},
};

/// Smallest scale of the change of entropy, in nats·reward: below it no token is held back.
const SMALLEST_SCALE: f64 = 0.02;

settings! {
    /// The clipped surrogate, each token weighed by `e^(-k |Ω|)` with the change of entropy it brings to
    /// first order,
    ///
    /// ```text
    /// Ω = A/π_old · π (1 - π) (ln π + H),    k = -ln λ / max(max |Ω|, 0.02)
    /// ```
    ///
    /// so that the token of largest change has the weight `λ`. Needs the column `entropy`; the maximum is
    /// over the mini-batch, and the ratio in `Ω` is held to e^±20 as the surrogate's is.
    ///
    /// Default: `λ = 0.8` as published, over clip-higher.
    ///
    /// Source: Hao et al. 2025, [Eq. 9](https://arxiv.org/abs/2510.10150).
    pub struct Steer {
        /// Weight `λ` of the token of largest change, above 0, at most 1.
        pub smallest_weight: f64 = 0.8, check_least_weight;
        /// Largest fall of the ratio below 1.
        pub clip_ratio_low: f64 = 0.2, check_not_negative;
        /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
        pub clip_ratio_high: f64 = 0.28, check_not_negative;
    }
}

/// `Ω` of a token: the entropy it changes to first order, in nats·reward.
#[inline(always)]
fn entropy_change(log_prob: f64, old_log_prob: f64, advantage: f64, entropy: f64) -> f64 {
    let ratio = limited(log_prob - old_log_prob).exp();
    let rest = -log_prob.min(0.0).exp_m1();
    advantage * ratio * rest * (log_prob + entropy)
}

impl TokenLoss for Steer {
    #[inline(always)]
    fn score<R: Real>(&self, token: &Token<R>) -> Scored<R> {
        let surrogate = Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high);
        surrogate.score(token).times(token.constant)
    }

    /// The weight `e^(-k |Ω|)`; the plan has the rate `k`, the column is the entropy.
    #[inline(always)]
    fn constant(&self, sources: Sources) -> f64 {
        let Sources { planned: rate, log_prob, old_log_prob, advantage, column, .. } = sources;
        (-rate * entropy_change(log_prob, old_log_prob, advantage, column).abs()).exp()
    }

    limited_log_ratio!();
}

impl<R: Real> PolicyMethod<R> for Steer {
    /// `k`, given the largest `|Ω|` of the mini-batch.
    fn constants(&self, _: &TokenBatch<'_, R>, summary: &PlanSummary) -> Spread {
        Spread::Uniform(-self.smallest_weight.ln() / summary.largest.max(SMALLEST_SCALE))
    }

    fn column(&self) -> Option<Column> {
        Some(Column::Entropy)
    }

    /// Largest `|Ω|` of a part of the mini-batch.
    fn largest(&self, batch: &TokenBatch<'_, R>) -> f64 {
        let policies = zip(batch.log_prob(), batch.old_log_prob());
        let entropy = batch.column(Column::Entropy).unwrap_or_default();
        zip(policies, zip(batch.advantage(), entropy)).fold(
            0.0,
            |largest, ((log_prob, old_log_prob), (advantage, entropy))| {
                let (log_prob, old_log_prob) = (log_prob.to_f64(), old_log_prob.to_f64());
                let change =
                    entropy_change(log_prob, old_log_prob, advantage.to_f64(), entropy.to_f64());
                largest.max(change.abs())
            },
        )
    }
}
