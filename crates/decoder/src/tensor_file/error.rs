//! Errors of reading tensors.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use messages::shown;
use thiserror::Error;

/// Longest name of a tensor or file within a message, in characters.
pub(crate) const LONGEST_NAME: usize = 120;

/// Reason that tensors could not be read from a file or a directory of them.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TensorFileError {
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// A file or directory, or a tensor of it, does not hold what it must.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file or directory.
        path: PathBuf,
        /// Fault, and the expected content.
        problem: String,
    },
}

impl TensorFileError {
    /// The error of a file or directory with this fault.
    pub fn malformed(path: &Path, problem: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_owned(), problem: problem.into() }
    }

    /// The error of a file or directory without a tensor that must have the shape `expected`.
    pub fn missing(path: &Path, tensor: &str, expected: &[i64]) -> Self {
        Self::tensor(path, tensor, format!("is missing, expected shape {expected:?}"))
    }

    pub(crate) fn tensor(path: &Path, tensor: &str, problem: impl Display) -> Self {
        let tensor = shown(tensor, LONGEST_NAME);
        Self::malformed(path, format!("tensor `{tensor}` {problem}"))
    }
}
