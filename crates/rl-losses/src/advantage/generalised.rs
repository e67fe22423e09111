//! Generalised advantage estimation, with a critic.

use super::columns::{Advantages, check_ends, check_tokens};
use crate::{
    AdvantageError, RolloutColumns,
    column::sequence_ranges,
    parameter::{Settings, settings},
    whitened,
};

settings! {
    /// Settings of generalised advantage estimation.
    ///
    /// Default: verl's, `γ = λ = 1`, whitened.
    pub struct Gae {
        /// Factor `γ` on what follows one token later, `0..=1`.
        pub discount: f64 = 1.0, check_unit;
        /// `λ`, `0..=1`: 0 trusts the critic one token ahead, 1 not at all.
        pub lambda: f64 = 1.0, check_unit;
        /// If true, [`AdvantageEstimator`](crate::AdvantageEstimator) whitens the result.
        pub whiten: bool = true;
    }
}

impl Gae {
    /// The [`generalised_advantages`], whitened or not, `[tokens]`.
    pub(super) fn advantages(self, columns: &RolloutColumns<'_>, values: &[f64]) -> Advantages {
        let RolloutColumns { end_values, sequence_lengths, .. } = *columns;
        let rewards = columns.token_rewards()?;
        let credit = generalised_advantages(&rewards, values, end_values, sequence_lengths, self)?;
        Ok(if self.whiten { whitened(&credit.advantages) } else { credit.advantages })
    }
}

/// Result of [`generalised_advantages`], both columns `[tokens]`.
#[derive(Debug, Clone, PartialEq)]
pub struct GeneralisedAdvantages {
    /// `Σ_k (γλ)^k δ_{t+k}`, not whitened.
    pub advantages: Vec<f64>,
    /// Targets of the critic: advantage plus value.
    pub returns: Vec<f64>,
}

/// Generalised advantages, not whitened.
///
/// ```text
/// δ_t = r_t + γ V_{t+1} - V_t        A_t = δ_t + γ λ A_{t+1}
/// ```
///
/// `values[t]` is the critic's value of the state **before** token `t`. After the last token of a
/// sequence `V` is its entry of `end_values` (`[sequences]`): 0 where the episode **ended**, the
/// critic's value of the last state where it was **cut off**, so that a time limit is not taken for
/// a failure. `None` says that all ended. `A` after the last token is 0 in both cases.
///
/// Tokens that are not trained (observations) are not in the columns; credit passes over them as in
/// verl.
///
/// Source: Schulman et al. 2015, [Eq. 16](https://arxiv.org/abs/1506.02438); Pardo et al. 2018,
/// [arXiv:1712.00378](https://arxiv.org/abs/1712.00378) for time limits.
///
/// # Errors
///
/// [`AdvantageError`] if a column has the wrong length, a value is not finite, or `γ` or `λ` is
/// outside `0..=1`.
pub fn generalised_advantages(
    token_rewards: &[f64],
    values: &[f64],
    end_values: Option<&[f64]>,
    sequence_lengths: &[usize],
    settings: Gae,
) -> Result<GeneralisedAdvantages, AdvantageError> {
    settings.check()?;
    check_tokens("token_rewards", token_rewards, sequence_lengths)?;
    check_tokens("values", values, sequence_lengths)?;
    check_ends(end_values, sequence_lengths)?;
    let Gae { discount, lambda, .. } = settings;
    let mut advantages = vec![0.0; values.len()];
    for (sequence, tokens) in sequence_ranges(sequence_lengths).enumerate() {
        let (mut next_value, mut next_advantage) = (end_values.map_or(0.0, |v| v[sequence]), 0.0);
        for token in tokens.rev() {
            let delta = token_rewards[token] + discount * next_value - values[token];
            next_advantage = delta + discount * lambda * next_advantage;
            next_value = values[token];
            advantages[token] = next_advantage;
        }
    }
    let returns = std::iter::zip(&advantages, values).map(|(a, v)| a + v).collect();
    Ok(GeneralisedAdvantages { advantages, returns })
}
