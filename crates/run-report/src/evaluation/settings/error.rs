//! Errors in the settings of an evaluation.

use std::path::PathBuf;

use thiserror::Error;
use whole_file::FileError;

/// Why an evaluation cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// The file cannot be read.
    #[error(transparent)]
    Read(#[from] FileError),
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
    Argument {
        /// Argument as given.
        text: String,
        /// Description of the fault.
        problem: String,
    },
    /// A field of a set is out of range.
    #[error("set `{set}`: {field} is {value}, expected {expected}")]
    Field {
        /// Name of the set.
        set: String,
        /// The field.
        field: &'static str,
        /// Its value.
        value: String,
        /// Accepted values.
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
    /// The list of sets or the bootstrap is invalid.
    #[error("{0}")]
    Sets(String),
}

impl SettingsError {
    pub(super) fn field(set: &str, field: &'static str, value: String, expected: &str) -> Self {
        Self::Field { set: set.to_owned(), field, value, expected: expected.to_owned() }
    }

    pub(super) fn sampling(set: &str, problem: impl Into<String>) -> Self {
        Self::Sampling { set: set.to_owned(), problem: problem.into() }
    }
}
