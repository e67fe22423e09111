//! Errors of a `config.json`.

use std::path::{Path, PathBuf};

use thiserror::Error;

/// Why a `config.json` does not describe a model this program can run.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelConfigError {
    /// The file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
    /// There is no file, it is not a JSON object, or a field is missing, of the wrong type, or has a value that is not supported.
    #[error("{}: {problem}", path.display())]
    Unusable {
        /// The file, or the directory where it was expected.
        path: PathBuf,
        /// Problem, and the expected value.
        problem: String,
    },
}

impl ModelConfigError {
    /// A field whose value, as JSON or `missing`, is none of `expected`.
    pub(super) fn field(path: &Path, field: &str, found: &str, expected: &str) -> Self {
        let problem = format!("field `{field}` is {found}, expected {expected}");
        Self::Unusable { path: path.to_owned(), problem }
    }
}
