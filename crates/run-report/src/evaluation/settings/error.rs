//! Errors in the settings of an evaluation.

use std::path::PathBuf;

use thiserror::Error;

/// Why an evaluation cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file does not describe an evaluation.
    #[error("{}: {problem}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// Message of the TOML reader.
        problem: String,
    },
    /// A `--set` cannot be read.
    #[error(
        "--set {text:?}: {problem}, expected NAME=FILE[:KEY=VALUE,...] as aime24=aime24.jsonl:n=32,temperature=0.6"
    )]
    Set {
        /// Argument as given.
        text: String,
        /// Description of the fault.
        problem: String,
    },
    /// A field is out of range.
    #[error("set `{set}`: {field} is {found}, expected {expected}")]
    Field {
        /// Name of the set.
        set: String,
        /// The field.
        field: &'static str,
        /// Its value.
        found: String,
        /// Values that would have been accepted.
        expected: String,
    },
    /// The sampling of a set cannot be read.
    #[error("set `{set}`: {problem}")]
    Sampling {
        /// Name of the set.
        set: String,
        /// Message of the reader.
        problem: String,
    },
    /// The list of sets is invalid.
    #[error("{0}")]
    Sets(String),
}

/// Makes the error of a field of set `set` that is out of range.
pub(super) fn fault(
    set: &str,
    field: &'static str,
    found: String,
    expected: &str,
) -> SettingsError {
    SettingsError::Field { set: set.to_owned(), field, found, expected: expected.to_owned() }
}
