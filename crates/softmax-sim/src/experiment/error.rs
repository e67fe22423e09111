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

/// Checks numbers, each with its name and the least it may be, `f64::MIN` if any will do.
pub(crate) fn check_bounds(
    bounds: impl IntoIterator<Item = (&'static str, f64, f64)>,
) -> Result<(), ExperimentError> {
    for (field, value, least) in bounds {
        let bound = if least > f64::MIN { format!(" of at least {least}") } else { String::new() };
        let expected = format!("a finite number{bound}");
        check_range(field, value, expected, value.is_finite() && value >= least)?;
    }
    Ok(())
}

/// Checks a learning rate.
pub(crate) fn check_learning_rate(value: f64) -> Result<(), ExperimentError> {
    let holds = value.is_finite() && value > 0.0;
    check_range("learning_rate", value, "a finite number above 0", holds)
}

/// Checks a share, which lies in `0..=1`.
pub(crate) fn check_share(field: &'static str, value: f64) -> Result<(), ExperimentError> {
    check_range(field, value, "0 to 1", (0.0..=1.0).contains(&value))
}
