//! Why settings of a run cannot be run, and the checks of their ranges.

use thiserror::Error;

/// Why settings of a run cannot be run: the setting, its value, and the values it may have.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct ExperimentError(pub(crate) String);

/// Checks a number: `holds` if it has one of the values `expected`.
pub(crate) fn check_range(
    field: &str,
    value: f64,
    expected: &str,
    holds: bool,
) -> Result<(), ExperimentError> {
    let message = || format!("`{field}` is {value}, expected {expected}");
    if holds { Ok(()) } else { Err(ExperimentError(message())) }
}

pub(crate) fn check_finite(field: &str, value: f64) -> Result<(), ExperimentError> {
    check_range(field, value, "a finite number", value.is_finite())
}

pub(crate) fn check_at_least(field: &str, value: f64, least: f64) -> Result<(), ExperimentError> {
    let expected = format!("a finite number of at least {least}");
    check_range(field, value, &expected, value.is_finite() && value >= least)
}

pub(crate) fn check_positive(field: &str, value: f64) -> Result<(), ExperimentError> {
    check_range(field, value, "a finite number above 0", value.is_finite() && value > 0.0)
}

pub(crate) fn check_count(field: &str, value: f64) -> Result<(), ExperimentError> {
    check_range(field, value, "at least 1", value >= 1.0)
}

pub(crate) fn check_share(field: &str, value: f64) -> Result<(), ExperimentError> {
    check_range(field, value, "0 to 1", (0.0..=1.0).contains(&value))
}
