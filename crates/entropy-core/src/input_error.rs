//! Errors in a caller's data.

use crate::categorical::{Categorical, LogitsError};
use thiserror::Error;

/// Why columns and parameters do not fit a policy: which, where, and what was expected.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The logits define no distribution.
    #[error(transparent)]
    Logits(#[from] LogitsError),
    /// A column does not hold one finite value per action (or token, or state), or a single number is out of its range.
    #[error("{0}")]
    Value(String),
    /// The policy can take an action that the reference cannot, so that their divergence is infinite.
    #[error("the reference cannot take action {action}; expected the support of the policy")]
    Support {
        /// The first such action.
        action: usize,
    },
}

/// Checks the inputs of a step: an advantage `[actions]`, finite at every possible action, and
/// a finite step size; a negative one descends.
///
/// The functions that take the two are total afterwards.
///
/// # Errors
///
/// [`InputError`] that names the column, the place and what was expected.
pub fn check_update(policy: &Categorical, advantage: &[f64], eta: f64) -> Result<(), InputError> {
    check_column(policy, "advantage", advantage)?;
    check_finite("eta", eta)
}

pub(crate) fn check_column(
    policy: &Categorical,
    column: &str,
    values: &[f64],
) -> Result<(), InputError> {
    check_length(column, values.len(), policy.actions())?;
    let wrong = |&(index, value): &(usize, &f64)| policy.is_possible(index) && !value.is_finite();
    match values.iter().enumerate().find(wrong) {
        Some((index, &value)) => Err(not_finite(column, index, value)),
        None => Ok(()),
    }
}

pub(crate) fn check_length(column: &str, found: usize, expected: usize) -> Result<(), InputError> {
    if found == expected {
        return Ok(());
    }
    Err(InputError::Value(format!("`{column}` has {found} values; expected {expected}")))
}

fn not_finite(column: &str, index: usize, value: f64) -> InputError {
    let place = format!("`{column}` is {value} at position {index}");
    InputError::Value(format!("{place}; expected a finite number"))
}

/// Checks that every value is finite.
pub(crate) fn check_all_finite(column: &str, values: &[f64]) -> Result<(), InputError> {
    match values.iter().position(|value| !value.is_finite()) {
        Some(index) => Err(not_finite(column, index, values[index])),
        None => Ok(()),
    }
}

pub(crate) fn check_finite(name: &str, value: f64) -> Result<(), InputError> {
    check_parameter(name, value, value.is_finite(), "a finite number")
}

pub(crate) fn check_not_negative(name: &str, value: f64) -> Result<(), InputError> {
    let expected = "a finite number, 0 or above";
    check_parameter(name, value, value.is_finite() && value >= 0.0, expected)
}

pub(crate) fn check_parameter(
    name: &str,
    value: f64,
    holds: bool,
    expected: &str,
) -> Result<(), InputError> {
    let problem = || InputError::Value(format!("`{name}` is {value}; expected {expected}"));
    if holds { Ok(()) } else { Err(problem()) }
}

/// Checks that `KL(policy ‖ reference)` is finite.
pub(crate) fn check_reference(
    policy: &Categorical,
    reference: &Categorical,
) -> Result<(), InputError> {
    check_length("reference", reference.actions(), policy.actions())?;
    let missing = |&action: &usize| policy.is_possible(action) && !reference.is_possible(action);
    match (0..policy.actions()).find(missing) {
        Some(action) => Err(InputError::Support { action }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_the_column_the_place_and_the_expectation() {
        let policy = Categorical::from_logits(&[0.0, f64::NEG_INFINITY, 1.0]).unwrap();
        let message =
            |advantage: &[f64], eta| check_update(&policy, advantage, eta).unwrap_err().to_string();
        assert_eq!(message(&[1.0], 0.1), "`advantage` has 1 values; expected 3");
        assert_eq!(
            message(&[1.0, f64::NAN, f64::NAN], 0.1),
            "`advantage` is NaN at position 2; expected a finite number"
        );
        assert_eq!(message(&[0.0; 3], f64::INFINITY), "`eta` is inf; expected a finite number");
        assert!(check_update(&policy, &[0.0; 3], -0.5).is_ok());
        assert!(check_update(&policy, &[1.0, f64::NAN, 2.0], 0.0).is_ok());
    }
}
