//! GDPO: each component of a reward normalised by itself.

use super::{
    GroupNormalisation, RolloutColumns, broadcast_to_tokens,
    columns::{Advantages, check_length, check_samples},
    group_relative_advantages, whitened,
};
use crate::parameter::{Settings, settings};

settings! {
    /// Weights of a reward's components.
    ///
    /// Default: 1 each.
    pub struct Gdpo {
        /// Weight of each component of the reward after the first, at least 0; that of the first is 1.
        pub further_weight: f64 = 1.0, check_not_negative;
    }
}

impl Gdpo {
    /// GDPO, `[tokens]`: `(r - mean) / (std + 1e-6)` of each component in its group, their weighted sum, whitened over the tokens.
    ///
    /// ```text
    /// A = whiten(Σ_k w_k (r_k - mean_group r_k) / (std_group r_k + 1e-6))
    /// ```
    ///
    /// Summed first, components of different spread would hide each other: two combinations of equal sum have one advantage.
    ///
    /// Source: Liu et al. 2026, [arXiv:2601.05242](https://arxiv.org/abs/2601.05242); verl `gdpo`; row 62 of `docs/paper-vs-code.md`.
    pub(super) fn advantages(self, columns: &RolloutColumns<'_>) -> Advantages {
        self.check()?;
        let RolloutColumns { group_sizes, sequence_lengths, .. } = *columns;
        check_length(sequence_lengths)?;
        let of_one = [columns.rewards];
        let components = columns.reward_components.unwrap_or(&of_one);
        let column = if components.len() > 1 { "reward_components" } else { "rewards" };
        let mut sum = vec![0.0; sequence_lengths.len()];
        for (index, component) in components.iter().enumerate() {
            check_samples(column, component, sequence_lengths.len())?;
            let weight = if index == 0 { 1.0 } else { self.further_weight };
            let normalisation = GroupNormalisation::StandardDeviation;
            let advantages = group_relative_advantages(component, group_sizes, normalisation)?;
            for (sum, advantage) in std::iter::zip(&mut sum, advantages) {
                *sum += weight * advantage;
            }
        }
        Ok(whitened(&broadcast_to_tokens(&sum, sequence_lengths)))
    }
}
