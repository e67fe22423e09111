//! Columns that an estimator may read, and how they are checked.

use std::iter::zip;

use thiserror::Error;

use crate::{
    column::{Named, sequence_ranges, total},
    parameter::ParameterError,
};

/// Largest length of a column of tokens, eight terabytes; a longer one is an error.
const MOST_TOKENS: usize = 1 << 40;

/// Why rewards have no advantages: a column or group and what was expected, or a setting out of range.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{0}")]
pub struct AdvantageError(pub(super) String);

impl From<ParameterError> for AdvantageError {
    fn from(error: ParameterError) -> Self {
        Self(error.to_string())
    }
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
    if tokens <= MOST_TOKENS {
        return Ok(());
    }
    Err(AdvantageError(format!(
        "`sequence_lengths` add up to {tokens} tokens, expected at most {MOST_TOKENS}"
    )))
}

/// Checks that a column has one finite value per sample.
pub(super) fn check_samples(column: &str, values: &[f64], samples: usize) -> Checked {
    check(column, "sample", values, samples)
}

/// Checks that [`RolloutColumns::end_values`] has one finite value per sample, if there is one.
pub(super) fn check_ends(end_values: Option<&[f64]>, sequence_lengths: &[usize]) -> Checked {
    end_values.map_or(Ok(()), |values| check_samples("end_values", values, sequence_lengths.len()))
}

/// Checks that a column has one finite value per token.
pub(super) fn check_tokens(column: &str, values: &[f64], sequence_lengths: &[usize]) -> Checked {
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
        return Err(AdvantageError(format!(
            "`group_sizes` add up to {grouped} samples, `{column}` has {length}"
        )));
    }
    if let Some(group) = group_sizes.iter().position(|&size| size < least) {
        let size = group_sizes[group];
        return Err(AdvantageError(format!(
            "group {group} has {size} samples, expected at least {least}"
        )));
    }
    check_samples(column, samples, length)
}

fn check(column: &str, unit: &str, values: &[f64], expected: usize) -> Checked {
    if values.len() != expected {
        let length = values.len();
        let problem = format!("column `{column}` has {length} {unit}s, expected {expected}");
        return Err(AdvantageError(problem));
    }
    let Some(index) = values.iter().position(|value| !value.is_finite()) else { return Ok(()) };
    let value = values[index];
    Err(AdvantageError(format!(
        "`{column}` is {value} at {unit} {index}, expected a finite number"
    )))
}
