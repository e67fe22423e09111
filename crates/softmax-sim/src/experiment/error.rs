//! Why settings of a run cannot be run.

use rl_losses::ControlError;
use thiserror::Error;

/// Why settings of a run cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A number out of its range.
    #[error("`{field}` is {value}, expected {expected}")]
    Range {
        /// Name of the setting.
        field: &'static str,
        /// Its value.
        value: f64,
        /// Values it may have.
        expected: String,
    },
    /// More states than tables are made for.
    #[error("`memory` is {memory}: {states} states of a prompt, expected at most {most}")]
    States {
        /// Tokens remembered.
        memory: usize,
        /// States that they make.
        states: usize,
        /// The most.
        most: usize,
    },
    /// A thermostat or an annealing that cannot move the loss as told.
    #[error("`{field}` of `{loss}`: {reason}")]
    Control {
        /// Name of the setting.
        field: &'static str,
        /// Name of the loss.
        loss: &'static str,
        /// Reason.
        reason: ControlError,
    },
    /// Buckets of difficulty for a number that they do not share.
    #[error(
        "`accuracy_edges` are given, expected none unless `fraction` moves, of a loss that selects over the \
         mini-batch (`{loss}`)"
    )]
    Buckets {
        /// Name of the loss.
        loss: &'static str,
    },
    /// Two settings for one thing.
    #[error("`{first}` and `{second}` are both given, expected one of them")]
    Both {
        /// Name of one.
        first: &'static str,
        /// Name of the other.
        second: &'static str,
    },
}

/// A number of a setting.
pub(crate) trait Number {
    fn number(self) -> f64;
}

impl Number for f64 {
    fn number(self) -> f64 {
        self
    }
}

impl Number for usize {
    fn number(self) -> f64 {
        self as f64
    }
}

impl Number for u32 {
    fn number(self) -> f64 {
        self.into()
    }
}

/// Checks a number: `holds` if it has one of the values `expected`.
pub(crate) fn check_range(
    field: &'static str,
    value: f64,
    expected: impl Into<String>,
    holds: bool,
) -> Result<(), ExperimentError> {
    let expected = expected.into();
    if holds { Ok(()) } else { Err(ExperimentError::Range { field, value, expected }) }
}

/// Checks a number that may be any finite one.
pub(crate) fn check_finite(field: &'static str, value: f64) -> Result<(), ExperimentError> {
    check_range(field, value, "a finite number", value.is_finite())
}

/// Checks a number that has a least value.
pub(crate) fn check_at_least(
    field: &'static str,
    value: f64,
    least: f64,
) -> Result<(), ExperimentError> {
    let expected = format!("a finite number of at least {least}");
    check_range(field, value, expected, value.is_finite() && value >= least)
}

/// Checks a number above 0.
pub(crate) fn check_positive(field: &'static str, value: f64) -> Result<(), ExperimentError> {
    check_range(field, value, "a finite number above 0", value.is_finite() && value > 0.0)
}

/// Checks a count, which is not 0.
pub(crate) fn check_count(field: &'static str, value: f64) -> Result<(), ExperimentError> {
    check_range(field, value, "at least 1", value >= 1.0)
}

/// Checks a factor that shortens.
pub(crate) fn check_unit(field: &'static str, value: f64) -> Result<(), ExperimentError> {
    check_range(field, value, "within 0..=1", (0.0..=1.0).contains(&value))
}

/// Checks a share, which lies in `0..=1`.
pub(crate) fn check_share(field: &'static str, value: f64) -> Result<(), ExperimentError> {
    check_range(field, value, "0 to 1", (0.0..=1.0).contains(&value))
}
