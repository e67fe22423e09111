//! Why a GGUF file cannot be imported.

use std::path::{Path, PathBuf};

use messages::shown;
use thiserror::Error;
use whole_file::WriteError;

/// Longest name of a stranger's file within a message, in characters.
const NAME: usize = 120;

/// Longest problem within a message, in characters.
const PROBLEM: usize = 500;

/// Why a GGUF file cannot be imported. Each message is one line and names the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The system refused to open, read, write or rename.
    #[error("{}: cannot {action}: {source}", path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operation that failed: "read", "write", …
        action: &'static str,
        /// The system's error.
        source: std::io::Error,
    },
    /// The bytes are not a whole GGUF file.
    #[error(
        "{}: byte {offset}: {}: {}",
        path.display(), shown(field, NAME), shown(problem, PROBLEM)
    )]
    Malformed {
        /// The GGUF file.
        path: PathBuf,
        /// Byte offset of the field in the file.
        offset: u64,
        /// The field, such as ``metadata `general.architecture` ``.
        field: String,
        /// Problem, and the expected value.
        problem: String,
    },
    /// A metadata entry is missing or its value cannot be used.
    #[error("{}: metadata `{}`: {}", path.display(), shown(key, NAME), shown(problem, PROBLEM))]
    Metadata {
        /// The GGUF file.
        path: PathBuf,
        /// The entry's key.
        key: String,
        /// Problem, and the expected value.
        problem: String,
    },
    /// A tensor is missing, has the wrong shape or holds impossible values.
    #[error("{}: tensor `{}`: {}", path.display(), shown(tensor, NAME), shown(problem, PROBLEM))]
    Tensor {
        /// The GGUF file.
        path: PathBuf,
        /// The tensor's name in the GGUF file.
        tensor: String,
        /// Problem, and the expected value.
        problem: String,
    },
    /// The output directory exists and is not empty.
    #[error("{}: exists already, expected a new or empty directory", path.display())]
    Occupied {
        /// The directory.
        path: PathBuf,
    },
}

impl GgufError {
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io { path: path.to_owned(), action, source }
    }

    pub(super) fn of_write(WriteError { path, action, source }: WriteError) -> Self {
        Self::Io { path, action, source }
    }

    pub(super) fn metadata(path: &Path, key: &str, problem: impl Into<String>) -> Self {
        Self::Metadata { path: path.to_owned(), key: key.to_owned(), problem: problem.into() }
    }

    pub(super) fn tensor(path: &Path, tensor: &str, problem: impl Into<String>) -> Self {
        Self::Tensor { path: path.to_owned(), tensor: tensor.to_owned(), problem: problem.into() }
    }
}
