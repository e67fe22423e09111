//! PRIME: dense rewards from an implicit process reward model.

use std::{iter::zip, ops::Range};

use serde::{Deserialize, Serialize};

use super::{
    RolloutColumns, broadcast_to_tokens,
    columns::{Advantages, check_groups, check_samples, check_tokens},
    group_relative::rloo,
    returns::discounted_returns,
    whitened,
};
use crate::{
    column::sequence_ranges,
    parameter::{Settings, settings},
};

/// Baseline subtracted from a token's process reward.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProcessBaseline {
    /// The mean over the **other** samples of their mean process reward (Eq. 5 of the paper).
    #[default]
    Others,
    /// Baseline of the code: the token's reward times `n / (n - 1)`, less the sum of all means over
    /// `n - 1`. It equals [`Others`](Self::Others) in the mean over a sample, not token by token.
    Scaled,
}

/// The unit of the process rewards.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ProcessScale {
    /// Unscaled: `β` per nat, as in the paper.
    #[default]
    None,
    /// The largest of their returns in the batch, in absolute value, `+ 1e-6`: the scripts'
    /// `prime_norm = "batch_norm"`. `β` then only counts where the reward model learns.
    LargestReturn,
}

settings! {
    /// Settings of PRIME.
    ///
    /// Default: the published scripts, with the paper's baseline and unit.
    pub struct Prime {
        /// Factor `β` of the implicit reward, in judging and learning, reward per nat, above 0.
        pub beta: f64 = 0.05, check_not_negative;
        /// Unit of the process rewards: `"none"` or `"largest-return"`. That is the largest sum to the
        /// end of a response in the batch, in absolute value, as in PRIME's scripts.
        pub scale: ProcessScale = ProcessScale::None;
        /// Weight of the process rewards, at least 0.
        pub process_coefficient: f64 = 5.0, check_not_negative;
        /// Weight of the outcome, at least 0.
        pub outcome_coefficient: f64 = 5.0, check_not_negative;
        /// Discount factor per token, in 0..=1.
        pub discount: f64 = 1.0, check_unit;
        /// Baseline of a token's process reward: `"others"` of the group, or `"scaled"`, as in the
        /// authors' code. The first is the mean of the group's other samples.
        pub baseline: ProcessBaseline = ProcessBaseline::Others;
        /// Whiten the step's advantages over tokens: mean 0, deviation 1.
        pub whiten: bool = true;
    }
}

/// Reward of each token, `[tokens]`, that a language model `φ` trained as an outcome reward model
/// implies: `β (log π_φ(y_t) - log π_ref(y_t))`.
///
/// Source: Yuan et al. 2024, [arXiv:2412.01981](https://arxiv.org/abs/2412.01981), Prop. 3.1.
pub fn implicit_process_rewards(log_ratio: &[f64], beta: f64) -> Vec<f64> {
    log_ratio.iter().map(|ratio| beta * ratio).collect()
}

impl Prime {
    /// PRIME, `[tokens]`: discounted sum of centred process rewards plus the outcome over the mean of
    /// the others.
    ///
    /// ```text
    /// A_t = c_p Σ_{s≥t} γ^(s-t) [r_s - b] + c_o [R - mean of the others' R]
    /// ```
    ///
    /// with `r` the [`implicit_process_rewards`] in their [`ProcessScale`] and `b` the [`ProcessBaseline`]. A sample without
    /// tokens counts 0 in `b`.
    ///
    /// Source: Cui et al. 2025, [arXiv:2502.01456](https://arxiv.org/abs/2502.01456), Eq. 5;
    /// baseline, unit and whitening: rows 34 and 48 of `docs/paper-vs-code.md`.
    pub(super) fn advantages(
        self,
        columns: &RolloutColumns<'_>,
        process_log_ratio: &[f64],
    ) -> Advantages {
        self.check()?;
        let RolloutColumns { rewards, group_sizes, sequence_lengths, .. } = *columns;
        check_groups(("rewards", rewards), group_sizes, 2)?;
        check_samples("rewards", rewards, sequence_lengths.len())?;
        check_tokens("process_log_ratio", process_log_ratio, sequence_lengths)?;
        let mut process = implicit_process_rewards(process_log_ratio, self.beta);
        if self.scale == ProcessScale::LargestReturn {
            let returns = discounted_returns(&process, None, sequence_lengths, 1.0)?;
            let largest = returns.iter().fold(0.0_f64, |most, value| most.max(value.abs()));
            for reward in &mut process {
                *reward /= largest + 1e-6;
            }
        }
        centre(&mut process, group_sizes, sequence_lengths, self.baseline);
        let process = discounted_returns(&process, None, sequence_lengths, self.discount)?;
        let outcome = rloo(rewards, group_sizes, true)?;
        let outcome = broadcast_to_tokens(&outcome, sequence_lengths);
        let advantages: Vec<f64> = zip(process, outcome)
            .map(|(p, o)| self.process_coefficient * p + self.outcome_coefficient * o)
            .collect();
        Ok(if self.whiten { whitened(&advantages) } else { advantages })
    }
}

fn centre(
    process: &mut [f64],
    group_sizes: &[usize],
    sequence_lengths: &[usize],
    baseline: ProcessBaseline,
) {
    let samples: Vec<Range<usize>> = sequence_ranges(sequence_lengths).collect();
    for group in sequence_ranges(group_sizes) {
        let (size, others) = (group.len() as f64, group.len() as f64 - 1.0);
        let mean = |tokens: &Range<usize>| {
            process[tokens.clone()].iter().sum::<f64>() / tokens.len().max(1) as f64
        };
        let means: Vec<f64> = samples[group.clone()].iter().map(mean).collect();
        let total: f64 = means.iter().sum();
        for (tokens, mean) in zip(&samples[group], means) {
            for reward in &mut process[tokens.clone()] {
                *reward = match baseline {
                    ProcessBaseline::Others => *reward - (total - mean) / others,
                    ProcessBaseline::Scaled => (*reward * size - total) / others,
                };
            }
        }
    }
}
