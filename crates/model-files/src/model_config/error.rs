//! Errors of a `config.json`.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::model_place::{EXPECTED, advice};

/// Why a `config.json` does not describe a model this program can run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelConfigError {
    /// There is no `config.json`.
    #[error("{}: no model is there, expected {EXPECTED}{}", directory.display(), next_step(directory))]
    NoModel {
        /// Directory where it was expected.
        directory: PathBuf,
    },
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// The file is not a JSON object.
    #[error("{}: not JSON: {message}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The parser's message.
        message: String,
    },
    /// A field is missing, of the wrong type, or has a value that is not supported.
    #[error("{}: field `{field}` is {found}, expected {expected}", path.display())]
    Field {
        /// The file.
        path: PathBuf,
        /// The field's name.
        field: &'static str,
        /// The value found, as JSON, or `missing`.
        found: String,
        /// Accepted values.
        expected: String,
    },
}

impl ModelConfigError {
    /// A field whose value, as JSON or `missing`, is none of `expected`.
    pub(super) fn field(path: &Path, field: &'static str, found: String, expected: &str) -> Self {
        Self::Field { path: path.to_owned(), field, found, expected: expected.to_owned() }
    }
}

fn next_step(directory: &Path) -> String {
    advice(directory).map_or_else(String::new, |advice| format!("; {advice}"))
}
