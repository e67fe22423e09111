//! Columns that an estimator may read, and how they are checked.

use std::iter::zip;

use thiserror::Error;

use crate::{
    column::{Named, sequence_ranges, total},
    parameter::ParameterError,
};

/// Largest length of a column of tokens, eight terabytes; a longer one is an error.
const MOST_TOKENS: usize = 1 << 40;

/// Why rewards have no advantages.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum AdvantageError {
    /// The groups do not cover the samples.
    #[error("`group_sizes` add up to {grouped} samples, `{column}` has {found}")]
    GroupSizes {
        /// Samples in all groups.
        grouped: usize,
        /// Name of the column.
        column: &'static str,
        /// Its length.
        found: usize,
    },
    /// A group is smaller than the estimator needs.
    #[error("group {group} has {size} samples, expected at least {least}")]
    SmallGroup {
        /// Position of the group.
        group: usize,
        /// Its number of samples.
        size: usize,
        /// The fewest the estimator can work with.
        least: usize,
    },
    /// A column is not as long as the samples or tokens it describes.
    #[error("column `{column}` has {found} {unit}s, expected {expected}")]
    Length {
        /// Name of the column.
        column: &'static str,
        /// `sample` or `token`.
        unit: &'static str,
        /// Its length.
        found: usize,
        /// The length it must have.
        expected: usize,
    },
    /// A value is NaN or infinite.
    #[error("`{column}` is {value} at {unit} {index}, expected a finite number")]
    NotFinite {
        /// Name of the column.
        column: &'static str,
        /// `sample` or `token`.
        unit: &'static str,
        /// Position in the column.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// The sequences have more tokens than any memory holds.
    #[error("`sequence_lengths` add up to {tokens} tokens, expected at most {MOST_TOKENS}")]
    TooLong {
        /// Tokens of all sequences.
        tokens: usize,
    },
    /// A reward is neither 0 nor 1 where only right and wrong have a meaning.
    #[error("`rewards` is {value} at sample {index}, expected 0 or 1")]
    NotBinary {
        /// Position of the sample.
        index: usize,
        /// Its reward.
        value: f64,
    },
    /// The estimator needs a column that was not given.
    #[error("`{estimator}` needs the column `{column}`, which is missing")]
    Missing {
        /// Name of the estimator in a configuration.
        estimator: &'static str,
        /// Name of the column.
        column: &'static str,
    },
    /// A number that configures the estimator lies outside its range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// Nothing, or the reason that a column cannot be used.
type Checked = Result<(), AdvantageError>;

/// An advantage for each sample or token, or the reason that there are none.
pub(super) type Advantages = Result<Vec<f64>, AdvantageError>;

/// The rollouts of one step, as an [`AdvantageEstimator`](crate::AdvantageEstimator) reads them.
///
/// Scope: whatever an estimator averages over all tokens or samples it averages over these; pass
/// the whole rollout batch of all ranks.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RolloutColumns<'a> {
    /// Outcome of each response or episode, in reward, `[samples]`.
    pub rewards: &'a [f64],
    /// Samples of each prompt, laid end to end, `[groups]`.
    pub group_sizes: &'a [usize],
    /// Trained tokens of each sample, `[samples]`.
    pub sequence_lengths: &'a [usize],
    /// Reward of each token, `[tokens]`; absent: that of the sample at its last token.
    pub token_rewards: Option<&'a [f64]>,
    /// Critic's value **before** each token, in reward, `[tokens]`.
    pub values: Option<&'a [f64]>,
    /// Critic's value after the last token, in reward, `[samples]`; 0 where the episode ended by itself, absent: all did.
    pub end_values: Option<&'a [f64]>,
    /// Outcome of a greedy response to each sample's prompt, in reward, `[samples]`.
    pub greedy_rewards: Option<&'a [f64]>,
    /// `log π_φ(y_t) - log π_ref(y_t)` of the implicit process reward model, in nats, `[tokens]`.
    pub process_log_ratio: Option<&'a [f64]>,
    /// Parts that add up to the rewards, each `[samples]`; absent: one part.
    pub reward_components: Option<&'a [&'a [f64]]>,
    /// Squared norm of the derivative of `log π(y_t)` by the logits, `1 - 2 π(y_t) + Σ π²`, `[tokens]`.
    pub squared_scores: Option<&'a [f64]>,
}

impl RolloutColumns<'_> {
    /// The rewards of the tokens: as given, or each sample's reward at its last token.
    ///
    /// # Errors
    ///
    /// [`AdvantageError`] if a column has the wrong length or holds a value that is not finite.
    pub fn token_rewards(&self) -> Result<Vec<f64>, AdvantageError> {
        if let Some(token_rewards) = self.token_rewards {
            check_tokens("token_rewards", token_rewards, self.sequence_lengths)?;
            return Ok(token_rewards.to_vec());
        }
        self.check_outcomes()?;
        let mut token_rewards = vec![0.0; total(self.sequence_lengths)];
        for (&reward, tokens) in zip(self.rewards, sequence_ranges(self.sequence_lengths)) {
            if let Some(last) = token_rewards[tokens].last_mut() {
                *last = reward;
            }
        }
        Ok(token_rewards)
    }

    /// Checks that each sample has a finite reward, and that memory holds all tokens.
    pub(super) fn check_outcomes(&self) -> Result<(), AdvantageError> {
        check_samples("rewards", self.rewards, self.sequence_lengths.len())?;
        check_length(self.sequence_lengths)
    }
}

/// Gives every token the value of its sequence, `[sequences]` to `[tokens]`.
///
/// # Panics
///
/// If `per_sequence` does not hold one value per sequence.
pub fn broadcast_to_tokens(per_sequence: &[f64], sequence_lengths: &[usize]) -> Vec<f64> {
    assert_eq!(per_sequence.len(), sequence_lengths.len(), "one value per sequence");
    zip(per_sequence, sequence_lengths)
        .flat_map(|(&value, &length)| std::iter::repeat_n(value, length))
        .collect()
}

/// Checks that the sequences have no more than [`MOST_TOKENS`] tokens, where no column of tokens has their length.
pub(super) fn check_length(sequence_lengths: &[usize]) -> Checked {
    let tokens = total(sequence_lengths);
    if tokens <= MOST_TOKENS { Ok(()) } else { Err(AdvantageError::TooLong { tokens }) }
}

/// Checks that a column has one finite value per sample.
pub(super) fn check_samples(column: &'static str, values: &[f64], samples: usize) -> Checked {
    check(column, "sample", values, samples)
}

/// Checks that [`RolloutColumns::end_values`] has one finite value per sample, if there is one.
pub(super) fn check_ends(end_values: Option<&[f64]>, sequence_lengths: &[usize]) -> Checked {
    end_values.map_or(Ok(()), |values| check_samples("end_values", values, sequence_lengths.len()))
}

/// Checks that a column has one finite value per token.
pub(super) fn check_tokens(
    column: &'static str,
    values: &[f64],
    sequence_lengths: &[usize],
) -> Checked {
    check(column, "token", values, total(sequence_lengths))
}

/// Checks that rewards are finite, and covered by groups of at least `least` samples.
pub(super) fn check_groups(
    (column, samples): Named<'_>,
    group_sizes: &[usize],
    least: usize,
) -> Checked {
    let (grouped, length) = (total(group_sizes), samples.len());
    if grouped != length {
        return Err(AdvantageError::GroupSizes { grouped, column, found: length });
    }
    if let Some(group) = group_sizes.iter().position(|&size| size < least) {
        return Err(AdvantageError::SmallGroup { group, size: group_sizes[group], least });
    }
    check_samples(column, samples, length)
}

fn check(column: &'static str, unit: &'static str, values: &[f64], expected: usize) -> Checked {
    if values.len() != expected {
        return Err(AdvantageError::Length { column, unit, found: values.len(), expected });
    }
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(AdvantageError::NotFinite { column, unit, index, value: values[index] }),
        None => Ok(()),
    }
}
