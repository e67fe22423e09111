//! GDPO: each component of a reward normalised by itself.

use super::{
    GroupNormalisation, broadcast_to_tokens,
    columns::{AdvantageError, check_length, check_samples},
    group_relative_advantages, whitened,
};
use crate::parameter::{Settings, check_not_negative, settings};

settings! {
    /// Weights of a reward's components.
    ///
    /// Default: 1 each.
    pub struct Gdpo {
        /// Weight of each component of the reward after the first, at least 0; that of the first is 1.
        pub further_weight: f64 = 1.0, check_not_negative;
    }
}

/// GDPO, `[tokens]`: `(r - mean) / (std + 1e-6)` of each component in its group, their weighted sum, whitened over the tokens.
///
/// ```text
/// A = whiten(Σ_k w_k (r_k - mean_group r_k) / (std_group r_k + 1e-6))
/// ```
///
/// Summed first, components of different spread would hide each other: two combinations of equal sum have one advantage. Each of
/// `components` is `[samples]`. Scope: what is whitened is exactly the tokens given; pass the whole batch.
///
/// Source: Liu et al. 2026, [arXiv:2601.05242](https://arxiv.org/abs/2601.05242); verl `gdpo`; row 62 of `docs/paper-vs-code.md`.
///
/// # Errors
///
/// [`AdvantageError`] if the columns do not fit each other, a reward is not finite, or a weight is out of range.
pub fn gdpo_advantages(
    components: &[&[f64]],
    group_sizes: &[usize],
    sequence_lengths: &[usize],
    settings: Gdpo,
) -> Result<Vec<f64>, AdvantageError> {
    settings.check()?;
    check_length(sequence_lengths)?;
    let mut sum = vec![0.0; sequence_lengths.len()];
    for (index, component) in components.iter().enumerate() {
        let column = if components.len() > 1 { "reward_components" } else { "rewards" };
        check_samples(column, component, sequence_lengths.len())?;
        let weight = if index == 0 { 1.0 } else { settings.further_weight };
        let normalisation = GroupNormalisation::StandardDeviation;
        let advantages = group_relative_advantages(component, group_sizes, normalisation)?;
        for (sum, advantage) in std::iter::zip(&mut sum, advantages) {
            *sum += weight * advantage;
        }
    }
    Ok(whitened(&broadcast_to_tokens(&sum, sequence_lengths)))
}
