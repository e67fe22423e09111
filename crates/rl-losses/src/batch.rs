//! The view every loss reads.

use std::{borrow::Cow, ops::Range};

use thiserror::Error;

/// Why columns do not form a batch.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BatchError {
    /// A column is not as long as `log_prob`.
    #[error("column `{column}` has {found} tokens, `log_prob` has {expected}")]
    Length {
        /// Name of the offending column.
        column: &'static str,
        /// Its length.
        found: usize,
        /// Length of `log_prob`.
        expected: usize,
    },
    /// A value is NaN or infinite.
    #[error("column `{column}` is {value} at token {index}, expected a finite number")]
    NotFinite {
        /// Name of the offending column.
        column: &'static str,
        /// Token position.
        index: usize,
        /// Its value.
        value: f64,
    },
}

/// The columns of a batch by name, so that none can be passed in place of another.
///
/// | column         | shape      | unit   | meaning                                        |
/// |----------------|------------|--------|------------------------------------------------|
/// | `log_prob`     | `[tokens]` | nat    | `log π_θ(y_t)` under the policy being updated  |
/// | `old_log_prob` | `[tokens]` | nat    | the same before the first update of this step  |
/// | `advantage`    | `[tokens]` | reward | a constant of the loss                         |
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenColumns<'a> {
    /// Log-probability under the policy being updated, in nats.
    pub log_prob: &'a [f64],
    /// Log-probability before the first update, in nats.
    pub old_log_prob: &'a [f64],
    /// Advantage.
    pub advantage: &'a [f64],
}

/// The trained tokens of a batch: ragged sequences laid end to end, no padding, no mask.
#[derive(Debug, Clone, PartialEq)]
pub struct TokenBatch<'a> {
    columns: TokenColumns<'a>,
    sequence_lengths: Cow<'a, [usize]>,
}

impl<'a> TokenBatch<'a> {
    /// Checks that the columns agree with each other and with `sequence_lengths` (`[sequences]`, in
    /// tokens), and that every value is finite.
    ///
    /// # Errors
    ///
    /// [`BatchError::Length`] or [`BatchError::NotFinite`], naming the column.
    pub fn new(
        columns: TokenColumns<'a>,
        sequence_lengths: &'a [usize],
    ) -> Result<Self, BatchError> {
        let expected = columns.log_prob.len();
        let named = [
            ("log_prob", columns.log_prob),
            ("old_log_prob", columns.old_log_prob),
            ("advantage", columns.advantage),
        ];
        for (column, values) in named {
            if values.len() != expected {
                return Err(BatchError::Length { column, found: values.len(), expected });
            }
            if let Some(index) = values.iter().position(|x| !x.is_finite()) {
                return Err(BatchError::NotFinite { column, index, value: values[index] });
            }
        }
        let found = sequence_lengths.iter().sum();
        if found != expected {
            return Err(BatchError::Length { column: "sequence_lengths", found, expected });
        }
        Ok(Self { columns, sequence_lengths: Cow::Borrowed(sequence_lengths) })
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.columns.log_prob.len()
    }

    /// Whether there is nothing to train on.
    pub fn is_empty(&self) -> bool {
        self.columns.log_prob.is_empty()
    }

    /// Log-probability of each token under the policy being updated, in nats, `[tokens]`.
    pub fn log_prob(&self) -> &'a [f64] {
        self.columns.log_prob
    }

    /// Log-probability of each token before the first update, in nats, `[tokens]`.
    pub fn old_log_prob(&self) -> &'a [f64] {
        self.columns.old_log_prob
    }

    /// Advantage of each token, `[tokens]`.
    pub fn advantage(&self) -> &'a [f64] {
        self.columns.advantage
    }

    /// Tokens each sequence owns, `[sequences]`.
    pub fn sequence_lengths(&self) -> &[usize] {
        &self.sequence_lengths
    }

    /// `log π_θ(y_t) - log π_old(y_t)` of each token, in nats.
    pub fn log_ratios(&self) -> impl Iterator<Item = f64> + 'a {
        std::iter::zip(self.columns.log_prob, self.columns.old_log_prob).map(|(new, old)| new - old)
    }

    /// The run of tokens that `sequences` own: what to pass to [`part`](Self::part) and to
    /// [`StepPlan::part`](crate::StepPlan::part) for a micro-batch of whole sequences.
    ///
    /// # Panics
    ///
    /// If `sequences` reaches past the batch.
    pub fn token_range(&self, sequences: Range<usize>) -> Range<usize> {
        let start: usize = self.sequence_lengths[..sequences.start].iter().sum();
        start..start + self.sequence_lengths[sequences].iter().sum::<usize>()
    }

    /// A run of tokens as a batch of its own; it may begin and end inside a sequence.
    ///
    /// A part is for [`PolicyLoss::evaluate`](crate::PolicyLoss::evaluate). To plan from it would
    /// centre the covariances over the part alone.
    ///
    /// # Panics
    ///
    /// If `tokens` reaches past the batch.
    #[must_use]
    pub fn part(&self, tokens: Range<usize>) -> TokenBatch<'a> {
        let mut begin = 0;
        let mut sequence_lengths = Vec::new();
        for length in self.sequence_lengths.iter() {
            let end = begin + length;
            let inside = end.min(tokens.end).saturating_sub(begin.max(tokens.start));
            if inside > 0 {
                sequence_lengths.push(inside);
            }
            begin = end;
        }
        let columns = TokenColumns {
            log_prob: &self.columns.log_prob[tokens.clone()],
            old_log_prob: &self.columns.old_log_prob[tokens.clone()],
            advantage: &self.columns.advantage[tokens],
        };
        TokenBatch { columns, sequence_lengths: Cow::Owned(sequence_lengths) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMN: [f64; 4] = [-1.0, -2.0, -3.0, -4.0];

    fn columns(advantage: &[f64]) -> TokenColumns<'_> {
        TokenColumns { log_prob: &COLUMN, old_log_prob: &COLUMN, advantage }
    }

    #[test]
    fn a_short_column_is_named() {
        let error = TokenBatch::new(columns(&[1.0; 3]), &[4]).unwrap_err();
        assert_eq!(error.to_string(), "column `advantage` has 3 tokens, `log_prob` has 4");
    }

    #[test]
    fn sequence_lengths_must_cover_the_tokens() {
        let error = TokenBatch::new(columns(&COLUMN), &[1, 2]).unwrap_err();
        assert_eq!(error.to_string(), "column `sequence_lengths` has 3 tokens, `log_prob` has 4");
    }

    #[test]
    fn a_value_that_is_not_finite_is_located() {
        let advantage = [0.0, 1.0, f64::NAN, 0.0];
        let error = TokenBatch::new(columns(&advantage), &[4]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "column `advantage` is NaN at token 2, expected a finite number"
        );
    }

    #[test]
    fn a_part_cuts_the_sequences_at_its_ends() {
        let lengths = [1, 0, 3];
        let batch = TokenBatch::new(columns(&COLUMN), &lengths).unwrap();
        assert_eq!(batch.token_range(1..3), 1..4);
        let part = batch.part(0..3);
        assert_eq!(part.sequence_lengths(), [1, 2]);
        assert_eq!(part.part(1..2).log_prob(), [-2.0]);
    }
}
