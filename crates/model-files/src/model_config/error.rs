//! Errors of a `config.json`.

use std::path::{Path, PathBuf};

use thiserror::Error;

use crate::model_place::{EXPECTED, advice};

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
    /// There is no such file, it is no JSON object, or a field is missing or has a value that is not supported.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file, or the directory where it was expected.
        path: PathBuf,
        /// Problem, and the expected value.
        problem: String,
    },
}

impl ModelConfigError {
    /// There is no `config.json` in `directory`.
    pub(super) fn no_model(directory: &Path) -> Self {
        let next_step = advice(directory).map_or_else(String::new, |advice| format!("; {advice}"));
        let problem = format!("no model is there, expected {EXPECTED}{next_step}");
        Self::Malformed { path: directory.to_owned(), problem }
    }

    /// A field whose value, as JSON or `missing`, is none of `expected`.
    pub(super) fn field(path: &Path, field: &str, value: &str, expected: &str) -> Self {
        let problem = format!("field `{field}` is {value}, expected {expected}");
        Self::Malformed { path: path.to_owned(), problem }
    }
}
