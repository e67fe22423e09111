//! Why settings of a run cannot be run.

use rl_losses::ControlError;
use thiserror::Error;

/// Why settings of a run cannot be run.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A number out of its range.
    #[error("`{field}` is {value}, expected a finite number{}", least_text(*least))]
    Range {
        /// Name of the setting.
        field: &'static str,
        /// Its value.
        value: f64,
        /// The least it may be; `f64::MIN` if any will do.
        least: f64,
    },
    /// A learning rate that does not move.
    #[error("`learning_rate` is {0}, expected a finite number above 0")]
    LearningRate(f64),
    /// A share out of its range.
    #[error("`{field}` is {value}, expected 0 to 1")]
    Share {
        /// Name of the setting.
        field: &'static str,
        /// Its value.
        value: f64,
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
    /// A thermostat that cannot move the loss as told.
    #[error("`thermostat` of `{loss}`: {source}")]
    Thermostat {
        /// Name of the loss.
        loss: &'static str,
        /// Reason.
        source: ControlError,
    },
    /// Buckets of difficulty for a number that they do not share.
    #[error(
        "`accuracy_edges` are given, expected none unless `fraction` moves, of a loss that selects over the mini-batch (`{0}`)"
    )]
    Buckets(&'static str),
    /// A number that cannot move as told.
    #[error("`annealing` of `{loss}`: {source}")]
    Annealing {
        /// Name of the loss.
        loss: &'static str,
        /// Reason.
        source: ControlError,
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

fn least_text(least: f64) -> String {
    if least > f64::MIN { format!(" of at least {least}") } else { String::new() }
}

/// Checks numbers, each with its name and the least it may be.
pub(crate) fn check_bounds(
    bounds: impl IntoIterator<Item = (&'static str, f64, f64)>,
) -> Result<(), ExperimentError> {
    for (field, value, least) in bounds {
        if !(value.is_finite() && value >= least) {
            return Err(ExperimentError::Range { field, value, least });
        }
    }
    Ok(())
}
