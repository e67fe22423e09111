//! Why an evaluation cannot start.

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
        /// What the system said.
        source: std::io::Error,
    },
    /// It is no description of an evaluation.
    #[error("{}: {problem}", path.display())]
    Toml {
        /// The file.
        path: PathBuf,
        /// What the reader said.
        problem: String,
    },
    /// A `--set` cannot be read.
    #[error(
        "--set {text:?}: {problem}, expected NAME=FILE[:KEY=VALUE,...] as aime24=aime24.jsonl:n=32,temperature=0.6"
    )]
    Set {
        /// As given.
        text: String,
        /// What is wrong.
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
        /// What would have been accepted.
        expected: String,
    },
    /// The sampling of a set cannot be read.
    #[error("set `{set}`: {problem}")]
    Sampling {
        /// Name of the set.
        set: String,
        /// What the reader said.
        problem: String,
    },
    /// The sets as a whole.
    #[error("{0}")]
    Sets(String),
}

/// A field of set `set` that is out of range.
pub(super) fn fault(
    set: &str,
    field: &'static str,
    found: String,
    expected: &str,
) -> SettingsError {
    SettingsError::Field { set: set.to_owned(), field, found, expected: expected.to_owned() }
}
