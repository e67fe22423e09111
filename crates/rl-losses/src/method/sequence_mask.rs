//! Off-policy sequence masking: stale negative samples are left out.

use crate::{
    Column, PlanSummary, Real, TokenBatch,
    column::sequence_ranges,
    method::policy_method::PolicyMethod,
    parameter::settings,
    surrogate::{Dropping, Surrogate},
    term::{Visited, Visitor},
};

settings! {
    /// The clipped surrogate without the sequences of negative advantage that the policy has moved away from: those whose mean
    /// `log π_rollout - log π_θ` is above a bound.
    ///
    /// Learning from an own mistake pays as long as the policy could still make it. A token that is left out has no value and no
    /// gradient and stays in the denominator. Needs the column `rollout_log_prob`, so that the difference of engines counts too.
    ///
    /// Default: 0.5 nats a token, the example of TRL's documentation, over clip-higher; the paper has no number.
    ///
    /// Source: DeepSeek-V3.2, [Eq. 9](https://arxiv.org/abs/2512.02556); TRL `off_policy_mask_threshold`, slime `--use-opsm`.
    pub struct SequenceMask {
        /// Largest mean divergence of a sequence of negative advantage, in nats a token.
        pub divergence: f64 = 0.5, check_not_negative;
        /// Largest fall of the ratio below 1.
        pub clip_ratio_low: f64 = 0.2, check_not_negative;
        /// Largest rise of the ratio above 1; more than `clip_ratio_low` is clip-higher.
        pub clip_ratio_high: f64 = 0.28, check_not_negative;
    }
}

impl Visited for SequenceMask {
    fn visit<V: Visitor>(&self, visitor: V) -> V::Output {
        visitor.visit(&Dropping(Surrogate::limited(self.clip_ratio_low, self.clip_ratio_high)))
    }
}

impl<R: Real> PolicyMethod<R> for SequenceMask {
    /// Positions of the tokens of negative advantage in the sequences beyond the bound; none without the column.
    fn select(&self, batch: &TokenBatch<'_, R>, _: &PlanSummary) -> Vec<usize> {
        let rollout = batch.column(Column::RolloutLogProb).unwrap_or_default();
        if rollout.is_empty() {
            return Vec::new();
        }
        let mut positions = Vec::new();
        for tokens in sequence_ranges(batch.sequence_lengths()) {
            let moved = |token: usize| (rollout[token] - batch.log_prob()[token]).to_f64();
            let mean = tokens.clone().map(moved).sum::<f64>() / tokens.len().max(1) as f64;
            if mean > self.divergence {
                positions.extend(tokens.filter(|&token| batch.advantage()[token] < R::of(0.0)));
            }
        }
        positions
    }
}
