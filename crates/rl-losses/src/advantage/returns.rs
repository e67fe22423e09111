//! Rewards summed from a token to the end of its sequence: REINFORCE, REINFORCE++, `ReMax`.

use serde::{Deserialize, Serialize};

use super::columns::{Advantages, check_ends, check_samples, check_tokens};
use crate::{
    GroupNormalisation, RolloutColumns, broadcast_to_tokens,
    column::sequence_ranges,
    group_relative_advantages,
    parameter::{check_unit, settings},
    whitened,
};

/// Return of each token, `[tokens]`: `G_t = r_t + γ G_{t+1}`, with `G` after the last token the
/// sequence's end value.
///
/// `token_rewards` is `[tokens]`, `end_values` is `[sequences]`: the value of the state in which a
/// sequence was **cut off**, 0 where it **ended**; `None` says that all ended.
pub(super) fn discounted_returns(
    token_rewards: &[f64],
    end_values: Option<&[f64]>,
    sequence_lengths: &[usize],
    discount: f64,
) -> Advantages {
    check_unit("discount", discount)?;
    check_tokens("token_rewards", token_rewards, sequence_lengths)?;
    check_ends(end_values, sequence_lengths)?;
    let mut returns = token_rewards.to_vec();
    for (sequence, tokens) in sequence_ranges(sequence_lengths).enumerate() {
        let mut following = end_values.map_or(0.0, |values| values[sequence]);
        for value in returns[tokens].iter_mut().rev() {
            *value += discount * following;
            following = *value;
        }
    }
    Ok(returns)
}

/// Baseline of a return.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ReturnBaseline {
    /// Nothing: Williams 1992.
    #[default]
    None,
    /// The mean return over all tokens of the batch.
    BatchMean,
}

settings! {
    /// Plain REINFORCE: the advantage of a token is its return.
    ///
    /// Default: no discount, no baseline.
    ///
    /// Source: Williams 1992, Machine Learning 8.
    pub struct Reinforce {
        /// Factor `γ` on what follows one token later, `0..=1`.
        pub discount: f64 = 1.0, check_unit;
        /// Baseline subtracted from each return.
        pub baseline: ReturnBaseline = ReturnBaseline::None;
    }
}

settings! {
    /// REINFORCE++: returns whitened over all tokens of the batch.
    ///
    /// Default: no discount.
    ///
    /// Source: Hu 2025, [arXiv:2501.03262](https://arxiv.org/abs/2501.03262); verl
    /// `reinforce_plus_plus`.
    pub struct ReinforcePlusPlus {
        /// Factor `γ` on what follows one token later, `0..=1`.
        pub discount: f64 = 1.0, check_unit;
    }
}

impl Reinforce {
    /// The [`discounted_returns`], less the baseline, `[tokens]`.
    pub(super) fn advantages(self, columns: &RolloutColumns<'_>) -> Advantages {
        let mut returns = returns_of(columns, self.discount)?;
        if self.baseline == ReturnBaseline::BatchMean {
            let mean = entropy_core::PairedMoments::of(&returns, &returns).mean_x;
            for value in &mut returns {
                *value -= mean;
            }
        }
        Ok(returns)
    }
}

impl ReinforcePlusPlus {
    /// The [`discounted_returns`], [`whitened`] over all tokens, `[tokens]`.
    pub(super) fn advantages(self, columns: &RolloutColumns<'_>) -> Advantages {
        returns_of(columns, self.discount).map(|returns| whitened(&returns))
    }
}

fn returns_of(columns: &RolloutColumns<'_>, discount: f64) -> Advantages {
    let RolloutColumns { end_values, sequence_lengths, .. } = *columns;
    discounted_returns(&columns.token_rewards()?, end_values, sequence_lengths, discount)
}

/// REINFORCE++ with a group baseline, `[tokens]`: `R - mean` of the group, given to every token of
/// the sample and [`whitened`] over all tokens.
///
/// A longer sample counts more in mean and variance, as in verl. A group of one has mean 0.
///
/// Source: Hu 2025, [arXiv:2501.03262](https://arxiv.org/abs/2501.03262); verl
/// `reinforce_plus_plus_baseline`.
pub(super) fn reinforce_plus_plus_baseline(columns: &RolloutColumns<'_>) -> Advantages {
    columns.check_outcomes()?;
    let RolloutColumns { rewards, group_sizes, sequence_lengths, .. } = *columns;
    let centred = group_relative_advantages(rewards, group_sizes, GroupNormalisation::None)?;
    Ok(whitened(&broadcast_to_tokens(&centred, sequence_lengths)))
}

/// `ReMax`, `[tokens]`: the undiscounted return of the token less the reward of a **greedy**
/// response to the same prompt.
///
/// Source: Li et al. 2023, [arXiv:2310.10505](https://arxiv.org/abs/2310.10505); verl `remax`.
pub(super) fn remax(columns: &RolloutColumns<'_>, greedy_rewards: &[f64]) -> Advantages {
    let (token_rewards, sequence_lengths) = (columns.token_rewards()?, columns.sequence_lengths);
    check_samples("greedy_rewards", greedy_rewards, sequence_lengths.len())?;
    let mut returns = discounted_returns(&token_rewards, None, sequence_lengths, 1.0)?;
    let baselines = broadcast_to_tokens(greedy_rewards, sequence_lengths);
    std::iter::zip(&mut returns, baselines).for_each(|(value, baseline)| *value -= baseline);
    Ok(returns)
}
