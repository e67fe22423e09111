//! Why tables form no environment.

use thiserror::Error;

/// Why tables form no environment: a size, a table or a state, its value, and what was expected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct EnvironmentError(String);

impl EnvironmentError {
    pub(super) fn check(holds: bool, message: impl FnOnce() -> String) -> Result<(), Self> {
        if holds { Ok(()) } else { Err(Self(message())) }
    }

    pub(super) fn check_some(size: &str, count: usize) -> Result<(), Self> {
        Self::check(count > 0, || format!("the number of {size} is 0, expected at least 1"))
    }

    pub(super) fn check_length(table: &str, count: usize, expected: usize) -> Result<(), Self> {
        Self::check(count == expected, || format!("`{table}`: {count} values, expected {expected}"))
    }

    /// Checks the length of a table, and that all its values are finite.
    pub(super) fn check_table(table: &str, values: &[f64], expected: usize) -> Result<(), Self> {
        Self::check_length(table, values.len(), expected)?;
        values.iter().enumerate().try_for_each(|(index, value)| {
            let message =
                || format!("`{table}` is {value} at index {index}, expected a finite number");
            Self::check(value.is_finite(), message)
        })
    }
}
