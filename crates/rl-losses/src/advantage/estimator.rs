//! The closed set of estimators: what each needs, and its advantages.

use super::{
    AdvantageEstimator, GroupNormalisation, RolloutColumns, broadcast_to_tokens,
    columns::AdvantageError,
    group_baseline::{gpg, opo},
    group_relative::{group_relative_advantages, max_rl, rloo},
    pass_at_k::best_of_group,
    returns::{reinforce_plus_plus_baseline, remax},
    token_baseline::optimal_token_baseline,
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
    pub fn advantages(&self, columns: &RolloutColumns<'_>) -> Result<Vec<f64>, AdvantageError> {
        let RolloutColumns { rewards, group_sizes, .. } = *columns;
        let required = |values| self.required(values);
        let per_sample = match self {
            Self::Grpo => {
                let normalisation = GroupNormalisation::StandardDeviation;
                group_relative_advantages(rewards, group_sizes, normalisation)?
            }
            Self::DrGrpo => {
                group_relative_advantages(rewards, group_sizes, GroupNormalisation::None)?
            }
            Self::Rloo => rloo(rewards, group_sizes, true)?,
            Self::RlooVectorized => rloo(rewards, group_sizes, false)?,
            Self::Opo => opo(columns)?,
            Self::Gpg => gpg(rewards, group_sizes)?,
            Self::MaxRl => max_rl(rewards, group_sizes)?,
            Self::Quantile(settings) => settings.advantages(rewards, group_sizes)?,
            Self::GrpoPassk => best_of_group(rewards, group_sizes)?,
            Self::PassAtK(settings) => settings.advantages(rewards, group_sizes)?,
            Self::Reinforce(settings) => return settings.advantages(columns),
            Self::ReinforcePlusPlus(settings) => return settings.advantages(columns),
            Self::ReinforcePlusPlusBaseline => return reinforce_plus_plus_baseline(columns),
            Self::Remax => return remax(columns, required(columns.greedy_rewards)?),
            Self::Gdpo(settings) => return settings.advantages(columns),
            Self::OptimalTokenBaseline => {
                return optimal_token_baseline(columns, required(columns.squared_scores)?);
            }
            Self::Prime(settings) => {
                return settings.advantages(columns, required(columns.process_log_ratio)?);
            }
            Self::Gae(settings) => return settings.advantages(columns, required(columns.values)?),
        };
        columns.check_outcomes()?;
        Ok(broadcast_to_tokens(&per_sample, columns.sequence_lengths))
    }

    /// The values of [`required_column`](Self::required_column).
    fn required<'a>(&self, values: Option<&'a [f64]>) -> Result<&'a [f64], AdvantageError> {
        let column = self.required_column().unwrap_or_default();
        let missing = || format!("`{}` needs the column `{column}`, which is missing", self.name());
        values.ok_or_else(|| AdvantageError(missing()))
    }
}
