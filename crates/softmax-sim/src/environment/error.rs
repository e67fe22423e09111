//! Why tables form no environment.

use thiserror::Error;

/// Why tables form no environment, naming the table and its value.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct EnvironmentError(pub(super) String);

impl EnvironmentError {
    pub(super) fn check_some(size: &str, count: usize) -> Result<(), Self> {
        if count > 0 {
            return Ok(());
        }
        Err(Self(format!("the number of {size} is 0, expected at least 1")))
    }

    pub(super) fn check_length(table: &str, found: usize, expected: usize) -> Result<(), Self> {
        if found == expected {
            return Ok(());
        }
        Err(Self(format!("`{table}`: {found} values, expected {expected}")))
    }

    /// Checks the length of a table, and that all its values are finite.
    pub(super) fn check_table(table: &str, values: &[f64], expected: usize) -> Result<(), Self> {
        Self::check_length(table, values.len(), expected)?;
        let bad = values.iter().enumerate().find(|(_, value)| !value.is_finite());
        bad.map_or(Ok(()), |(index, value)| {
            let place = format!("`{table}` is {value} at index {index}");
            Err(Self(format!("{place}, expected a finite number")))
        })
    }

    /// A policy of one logit per state, for questions that it does not share.
    pub(super) fn nothing_shared() -> Self {
        let why = "one logit per state says nothing of other questions";
        Self(format!("`validation` needs features: {why}"))
    }
}
