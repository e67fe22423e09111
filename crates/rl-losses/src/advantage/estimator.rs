//! The closed set of estimators: the configuration is the algorithm.

use serde::{Deserialize, Serialize};

use super::{
    Gae, Gdpo, GroupNormalisation, LoneSample, PassAtK, Prime, QuantileBaseline, Reinforce,
    ReinforcePlusPlus, RolloutColumns, best_of_group_advantages, broadcast_to_tokens,
    columns::{AdvantageError, check_length, check_samples},
    gdpo_advantages, generalised_advantages, gpg_advantages, group_relative_advantages,
    max_rl_advantages, opo_advantages, optimal_token_baseline_advantages, pass_at_k_advantages,
    prime_advantages, quantile_advantages, reinforce_advantages, reinforce_plus_plus_advantages,
    reinforce_plus_plus_baseline_advantages, remax_advantages, rloo_advantages, whitened,
};

/// How rewards become the advantage of each token.
///
/// In TOML a name, or a table for those with settings; a key that is left out has its default:
///
/// ```toml
/// advantage = "dr-grpo"
/// # or
/// advantage.gae = { lambda = 0.95 }
/// ```
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum AdvantageEstimator {
    /// `(R - mean) / (std + 1e-6)` in the group.
    #[default]
    Grpo,
    /// `R - mean` in the group.
    DrGrpo,
    /// `R -` mean of the others in the group; a group of one keeps its reward.
    Rloo,
    /// `R -` mean of the others in the group; a group of one gets 0.
    RlooVectorized,
    /// Return of each token.
    Reinforce(Reinforce),
    /// Return of each token, whitened over the batch.
    ReinforcePlusPlus(ReinforcePlusPlus),
    /// `R - mean` in the group, whitened over the tokens of the batch.
    ReinforcePlusPlusBaseline,
    /// Return less the reward of a greedy response.
    Remax,
    /// `R -` length-weighted mean of the group.
    Opo,
    /// `R - mean` in the group, times samples over rewarded samples.
    Gpg,
    /// `(R - mean) / mean` in the group, 0 where the mean is not positive: rewards of 0 or above.
    MaxRl,
    /// `(R -` quantile of the group`) / (std + 1e-6)`.
    Quantile(QuantileBaseline),
    /// Each component of the reward as in `grpo`, their sum whitened over the tokens of the batch.
    Gdpo(Gdpo),
    /// Return of each token less the baseline of least variance at its place in the group.
    OptimalTokenBaseline,
    /// Best of the group over the second best, divided by `std + 1e-6`; the others 0.
    GrpoPassk,
    /// Mean advantage of the sets of `k` samples that hold this one.
    PassAtK(PassAtK),
    /// Implicit process rewards and outcome.
    Prime(Prime),
    /// Generalised advantages over a critic.
    Gae(Gae),
}

impl AdvantageEstimator {
    /// Name in a configuration.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Grpo => "grpo",
            Self::DrGrpo => "dr-grpo",
            Self::Rloo => "rloo",
            Self::RlooVectorized => "rloo-vectorized",
            Self::Reinforce(_) => "reinforce",
            Self::ReinforcePlusPlus(_) => "reinforce-plus-plus",
            Self::ReinforcePlusPlusBaseline => "reinforce-plus-plus-baseline",
            Self::Remax => "remax",
            Self::Opo => "opo",
            Self::Gpg => "gpg",
            Self::MaxRl => "max-rl",
            Self::Quantile(_) => "quantile",
            Self::Gdpo(_) => "gdpo",
            Self::OptimalTokenBaseline => "optimal-token-baseline",
            Self::GrpoPassk => "grpo-passk",
            Self::PassAtK(_) => "pass-at-k",
            Self::Prime(_) => "prime",
            Self::Gae(_) => "gae",
        }
    }

    /// The column of [`RolloutColumns`] it cannot do without, besides rewards, groups and lengths.
    pub fn required_column(&self) -> Option<&'static str> {
        match self {
            Self::Remax => Some("greedy_rewards"),
            Self::OptimalTokenBaseline => Some("squared_scores"),
            Self::Prime(_) => Some("process_log_ratio"),
            Self::Gae(_) => Some("values"),
            _ => None,
        }
    }

    /// Samples that a group must have for its rewards to be compared with each other; 1 where they
    /// are not.
    pub fn smallest_group(&self) -> usize {
        match self {
            Self::Reinforce(_) | Self::ReinforcePlusPlus(_) | Self::Remax | Self::Gae(_) => 1,
            Self::PassAtK(settings) => settings.k.max(2),
            _ => 2,
        }
    }

    /// Advantage of each token, `[tokens]`.
    ///
    /// Scope: what is averaged over a batch is averaged over `columns`.
    ///
    /// # Errors
    ///
    /// [`AdvantageError`] if a column is missing, does not fit the others, or holds a value the
    /// estimator cannot use.
    #[expect(clippy::too_many_lines, reason = "one arm an estimator")]
    pub fn advantages(&self, columns: &RolloutColumns<'_>) -> Result<Vec<f64>, AdvantageError> {
        let RolloutColumns { rewards, group_sizes, sequence_lengths, end_values, .. } = *columns;
        let per_sample = match *self {
            Self::Grpo => {
                let normalisation = GroupNormalisation::StandardDeviation;
                group_relative_advantages(rewards, group_sizes, normalisation)?
            }
            Self::DrGrpo => {
                group_relative_advantages(rewards, group_sizes, GroupNormalisation::None)?
            }
            Self::Rloo => rloo_advantages(rewards, group_sizes, LoneSample::KeepsReward)?,
            Self::RlooVectorized => rloo_advantages(rewards, group_sizes, LoneSample::GetsZero)?,
            Self::Reinforce(settings) => {
                let rewards = columns.token_rewards()?;
                return reinforce_advantages(&rewards, end_values, sequence_lengths, settings);
            }
            Self::ReinforcePlusPlus(settings) => {
                let token_rewards = columns.token_rewards()?;
                return reinforce_plus_plus_advantages(
                    &token_rewards,
                    end_values,
                    sequence_lengths,
                    settings,
                );
            }
            Self::ReinforcePlusPlusBaseline => {
                return reinforce_plus_plus_baseline_advantages(
                    rewards,
                    group_sizes,
                    sequence_lengths,
                );
            }
            Self::Remax => {
                let greedy =
                    RolloutColumns::required("remax", "greedy_rewards", columns.greedy_rewards)?;
                return remax_advantages(&columns.token_rewards()?, greedy, sequence_lengths);
            }
            Self::Opo => opo_advantages(rewards, group_sizes, sequence_lengths)?,
            Self::Gpg => gpg_advantages(rewards, group_sizes)?,
            Self::MaxRl => max_rl_advantages(rewards, group_sizes)?,
            Self::Quantile(settings) => quantile_advantages(rewards, group_sizes, settings)?,
            Self::Gdpo(settings) => {
                let of_one = [rewards];
                let components = columns.reward_components.unwrap_or(&of_one);
                return gdpo_advantages(components, group_sizes, sequence_lengths, settings);
            }
            Self::OptimalTokenBaseline => {
                let column = columns.squared_scores;
                let squared_scores =
                    RolloutColumns::required("optimal-token-baseline", "squared_scores", column)?;
                return optimal_token_baseline_advantages(
                    &columns.token_rewards()?,
                    squared_scores,
                    group_sizes,
                    sequence_lengths,
                );
            }
            Self::GrpoPassk => {
                let normalisation = GroupNormalisation::StandardDeviation;
                best_of_group_advantages(rewards, group_sizes, normalisation)?
            }
            Self::PassAtK(settings) => pass_at_k_advantages(rewards, group_sizes, settings)?,
            Self::Prime(settings) => {
                let column = columns.process_log_ratio;
                let log_ratio = RolloutColumns::required("prime", "process_log_ratio", column)?;
                return prime_advantages(
                    rewards,
                    log_ratio,
                    group_sizes,
                    sequence_lengths,
                    settings,
                );
            }
            Self::Gae(settings) => {
                let values = RolloutColumns::required("gae", "values", columns.values)?;
                let token_rewards = columns.token_rewards()?;
                let estimate = generalised_advantages(
                    &token_rewards,
                    values,
                    end_values,
                    sequence_lengths,
                    settings,
                )?;
                let advantages = estimate.advantages;
                return Ok(if settings.whiten { whitened(&advantages) } else { advantages });
            }
        };
        check_samples("rewards", rewards, sequence_lengths.len())?;
        check_length(sequence_lengths)?;
        Ok(broadcast_to_tokens(&per_sample, sequence_lengths))
    }
}
