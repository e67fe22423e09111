//! Errors in the settings of an evaluation.

use std::fmt::Display;

use thiserror::Error;
use whole_file::ReadError;

/// Why an evaluation cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The file, a `--set`, a set, a field of it or the list of sets is wrong; the text names it.
    #[error("{0}")]
    Fault(String),
}

/// Makes the error of set `set`.
pub(super) fn in_set(set: &str, problem: impl Display) -> SettingsError {
    SettingsError::Fault(format!("set `{set}`: {problem}"))
}
