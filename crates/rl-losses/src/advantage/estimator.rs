//! The closed set of estimators: what each needs, and its advantages.

use super::{
    AdvantageEstimator, GroupNormalisation, LoneSample, RolloutColumns, best_of_group_advantages,
    broadcast_to_tokens,
    columns::{AdvantageError, check_length, check_samples},
    gdpo_advantages, generalised_advantages, gpg_advantages, group_relative_advantages,
    max_rl_advantages, opo_advantages, optimal_token_baseline_advantages, pass_at_k_advantages,
    prime_advantages, quantile_advantages, reinforce_advantages, reinforce_plus_plus_advantages,
    reinforce_plus_plus_baseline_advantages, remax_advantages, rloo_advantages, whitened,
};

impl AdvantageEstimator {
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
