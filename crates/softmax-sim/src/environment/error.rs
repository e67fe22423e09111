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
    #[error("`{table}`: {count} values, expected {expected}")]
    Length {
        /// Name of the table.
        table: &'static str,
        /// Its length.
        count: usize,
        /// The length that fits the others.
        expected: usize,
    },
    /// A value out of its range.
    #[error("`{table}` is {value} {place}, expected {expected}")]
    Value {
        /// Name of the table.
        table: &'static str,
        /// The value.
        value: f64,
        /// Its place in the table, in words.
        place: String,
        /// Values it may have.
        expected: &'static str,
    },
    /// Ways through the states of different lengths, or a state that none comes to.
    #[error("state {state} is not of one position: expected ways of one length through all states")]
    Uneven {
        /// The state.
        state: usize,
    },
    /// Validation questions of another number of parameters.
    #[error("`validation` has {count} parameters, the questions to train on have {expected}")]
    OtherParameters {
        /// Parameters of the validation questions.
        count: usize,
        /// Parameters of the questions to train on.
        expected: usize,
    },
    /// Validation questions for a policy of one logit per state.
    #[error("`validation` needs features: one logit per state says nothing of other questions")]
    NothingShared,
}

impl EnvironmentError {
    pub(super) fn check_some(size: &'static str, count: usize) -> Result<(), Self> {
        if count > 0 { Ok(()) } else { Err(Self::Empty { size }) }
    }

    pub(super) fn check_length(
        table: &'static str,
        count: usize,
        expected: usize,
    ) -> Result<(), Self> {
        if count == expected { Ok(()) } else { Err(Self::Length { table, count, expected }) }
    }

    /// Checks the length of a table, and that all its values are finite.
    pub(super) fn check_table(
        table: &'static str,
        values: &[f64],
        expected: usize,
    ) -> Result<(), Self> {
        Self::check_length(table, values.len(), expected)?;
        let bad = values.iter().enumerate().find(|(_, value)| !value.is_finite());
        bad.map_or(Ok(()), |(index, &value)| {
            let place = format!("at index {index}");
            Err(Self::Value { table, value, place, expected: "a finite number" })
        })
    }
}
