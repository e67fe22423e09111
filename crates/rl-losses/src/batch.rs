//! The view every loss reads.

use std::{borrow::Cow, fmt, ops::Range};

use thiserror::Error;

use crate::{
    column::{sequence_ranges, total},
    fast::{real::Real, threads::Threads},
};

/// A column that some methods need and others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Column {
    /// Entropy of the policy being updated where the token was drawn, in nats.
    Entropy,
    /// Entropy of the policy before the first update, in nats.
    OldEntropy,
    /// Log-probability under the frozen reference, in nats.
    ReferenceLogProb,
    /// Log-probability as sampled, in nats.
    RolloutLogProb,
}

impl Column {
    /// Every optional column.
    pub const ALL: [Self; 4] =
        [Self::Entropy, Self::OldEntropy, Self::ReferenceLogProb, Self::RolloutLogProb];

    /// Name as errors spell it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Entropy => "entropy",
            Self::OldEntropy => "old_entropy",
            Self::ReferenceLogProb => "reference_log_prob",
            Self::RolloutLogProb => "rollout_log_prob",
        }
    }
}

impl fmt::Display for Column {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// Why columns do not form a batch: which one, and what was expected.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{0}")]
pub struct BatchError(String);

impl BatchError {
    fn length(column: &str, tokens: usize, expected: usize) -> Self {
        Self(format!("column `{column}` has {tokens} tokens, `log_prob` has {expected}"))
    }
}

/// The columns of a batch, each `[tokens]`, by name, so that none can be passed in place of another.
///
/// `R` is what they are stored in, `f64` or `f32`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenColumns<'a, R = f64> {
    /// Log-probability `log π_θ(y_t)` under the policy being updated, in nats.
    pub log_prob: &'a [R],
    /// Log-probability before the first update of this step, in nats.
    pub old_log_prob: &'a [R],
    /// Advantage, in reward: a constant of the loss.
    pub advantage: &'a [R],
}

/// The trained tokens of a batch: ragged sequences laid end to end, no padding, no mask.
///
/// Methods that need more than the three columns say so in
/// [`PolicyLoss::requirements`](crate::PolicyLoss::requirements); add them by [`with`](Self::with).
#[derive(Debug, Clone)]
pub struct TokenBatch<'a, R = f64> {
    columns: TokenColumns<'a, R>,
    optional: [Option<&'a [R]>; Column::ALL.len()],
    sequence_lengths: Cow<'a, [usize]>,
    micro_batches: Option<&'a [usize]>,
    threads: Threads,
}

impl<'a, R: Real> TokenBatch<'a, R> {
    /// Checks that the columns agree with each other and with `sequence_lengths` (`[sequences]`, in
    /// tokens), and that every value is finite.
    ///
    /// # Errors
    ///
    /// [`BatchError`], naming the column.
    pub fn new(
        columns: TokenColumns<'a, R>,
        sequence_lengths: &'a [usize],
    ) -> Result<Self, BatchError> {
        let expected = columns.log_prob.len();
        check_column("log_prob", columns.log_prob, expected)?;
        check_column("old_log_prob", columns.old_log_prob, expected)?;
        check_column("advantage", columns.advantage, expected)?;
        let summed = total(sequence_lengths);
        if summed != expected {
            return Err(BatchError::length("sequence_lengths", summed, expected));
        }
        Ok(Self {
            columns,
            optional: [None; Column::ALL.len()],
            sequence_lengths: Cow::Borrowed(sequence_lengths),
            micro_batches: None,
            threads: Threads::ONE,
        })
    }

    /// Adds an optional column, `[tokens]`, or replaces it.
    ///
    /// # Errors
    ///
    /// [`BatchError`], naming the column.
    pub fn with(mut self, column: Column, values: &'a [R]) -> Result<Self, BatchError> {
        check_column(column.name(), values, self.len())?;
        self.optional[column as usize] = Some(values);
        Ok(self)
    }

    /// Says how many sequences each micro-batch has, for [`Scope::MicroBatch`](crate::Scope).
    ///
    /// # Errors
    ///
    /// [`BatchError`] unless they add up to the sequences of the batch.
    pub fn with_micro_batches(mut self, sequences: &'a [usize]) -> Result<Self, BatchError> {
        let summed = total(sequences);
        let expected = self.sequence_lengths.len();
        if summed != expected {
            return Err(BatchError(format!(
                "`micro_batches` add up to {summed} sequences, the batch has {expected}"
            )));
        }
        self.micro_batches = Some(sequences);
        Ok(self)
    }

    /// Plans and evaluates a large batch on these threads. No bit depends on them.
    #[must_use]
    pub fn with_threads(self, threads: Threads) -> Self {
        Self { threads, ..self }
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.columns.log_prob.len()
    }

    /// Returns true if the batch has no tokens.
    pub fn is_empty(&self) -> bool {
        self.columns.log_prob.is_empty()
    }

    /// Log-probability of each token under the policy being updated, in nats, `[tokens]`.
    pub fn log_prob(&self) -> &'a [R] {
        self.columns.log_prob
    }

    /// Log-probability of each token before the first update, in nats, `[tokens]`.
    pub fn old_log_prob(&self) -> &'a [R] {
        self.columns.old_log_prob
    }

    /// Advantage of each token, `[tokens]`.
    pub fn advantage(&self) -> &'a [R] {
        self.columns.advantage
    }

    /// An optional column, `[tokens]`, if the batch has it.
    pub fn column(&self, column: Column) -> Option<&'a [R]> {
        self.optional[column as usize]
    }

    /// Tokens each sequence owns, `[sequences]`.
    pub fn sequence_lengths(&self) -> &[usize] {
        &self.sequence_lengths
    }

    /// Number of sequences of each micro-batch, if set.
    pub fn micro_batches(&self) -> Option<&'a [usize]> {
        self.micro_batches
    }

    /// Threads that work on it.
    pub(crate) fn threads(&self) -> Threads {
        self.threads
    }

    /// `log π_θ(y_t) - log π_old(y_t)` of each token, in nats.
    pub fn log_ratios(&self) -> impl Iterator<Item = R> + 'a {
        std::iter::zip(self.columns.log_prob, self.columns.old_log_prob)
            .map(|(&new, &old)| new - old)
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
    pub fn part(&self, tokens: Range<usize>) -> TokenBatch<'a, R> {
        let inside = |sequence: Range<usize>| {
            sequence.end.min(tokens.end).saturating_sub(sequence.start.max(tokens.start))
        };
        let sequence_lengths: Vec<usize> = sequence_ranges(&self.sequence_lengths)
            .map(inside)
            .filter(|&length| length > 0)
            .collect();
        let columns = TokenColumns {
            log_prob: &self.columns.log_prob[tokens.clone()],
            old_log_prob: &self.columns.old_log_prob[tokens.clone()],
            advantage: &self.columns.advantage[tokens.clone()],
        };
        TokenBatch {
            columns,
            optional: self.optional.map(|column| column.map(|values| &values[tokens.clone()])),
            sequence_lengths: Cow::Owned(sequence_lengths),
            micro_batches: None,
            threads: self.threads,
        }
    }
}

fn check_column<R: Real>(column: &str, values: &[R], expected: usize) -> Result<(), BatchError> {
    if values.len() != expected {
        return Err(BatchError::length(column, values.len(), expected));
    }
    // One pass without an exit in it is a pass in vectors; the place is looked for only if needed.
    if values.iter().fold(true, |all, value| all & value.finite()) {
        return Ok(());
    }
    let index = values.iter().position(|value| !value.finite()).unwrap_or_default();
    let value = values[index].to_f64();
    Err(BatchError(format!(
        "column `{column}` is {value} at token {index}, expected a finite number"
    )))
}
