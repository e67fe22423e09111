//! Why tables form no environment.

use thiserror::Error;

/// Why tables form no environment.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum EnvironmentError {
    /// A size is 0.
    #[error("the number of {size} is 0, expected at least 1")]
    Empty {
        /// The size.
        size: &'static str,
    },
    /// A table of another length.
    #[error("`{table}`: {found} values, expected {expected}")]
    Length {
        /// Name of the table.
        table: &'static str,
        /// Its length.
        found: usize,
        /// The length that fits the others.
        expected: usize,
    },
    /// A value is NaN or infinite.
    #[error("`{table}` is {value} at index {index}, expected a finite number")]
    NotFinite {
        /// Name of the table.
        table: &'static str,
        /// Index in it.
        index: usize,
        /// The value.
        value: f64,
    },
    /// A quality is not in `0..=1`.
    #[error(
        "`quality` is {value} for prompt {prompt}, position {position}, action {action}, expected 0 to 1"
    )]
    Quality {
        /// The prompt.
        prompt: usize,
        /// The position.
        position: usize,
        /// The action.
        action: usize,
        /// The value.
        value: f64,
    },
    /// Ways through the states of different lengths, or a state that none comes to.
    #[error("state {state} is not of one position: expected ways of one length through all states")]
    Uneven {
        /// The state.
        state: usize,
    },
    /// Validation questions of another number of features.
    #[error("`validation` has {found} parameters, the questions to train on have {expected}")]
    OtherParameters {
        /// Parameters of the validation questions.
        found: usize,
        /// Parameters of the questions to train on.
        expected: usize,
    },
    /// Validation questions for a policy of one logit per state.
    #[error("`validation` needs features: one logit per state says nothing of other questions")]
    NothingShared,
}

impl EnvironmentError {
    /// Checks the length of a table.
    pub(super) fn check_length(
        table: &'static str,
        found: usize,
        expected: usize,
    ) -> Result<(), Self> {
        if found == expected { Ok(()) } else { Err(Self::Length { table, found, expected }) }
    }

    /// Checks the length of a table, and that all its values are finite.
    pub(super) fn check_table(
        table: &'static str,
        values: &[f64],
        expected: usize,
    ) -> Result<(), Self> {
        Self::check_length(table, values.len(), expected)?;
        let bad = values.iter().enumerate().find(|(_, value)| !value.is_finite());
        bad.map_or(Ok(()), |(index, &value)| Err(Self::NotFinite { table, index, value }))
    }
}
