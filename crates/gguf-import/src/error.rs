//! Why a GGUF file cannot be imported.

use std::path::{Path, PathBuf};

use messages::shown;
use thiserror::Error;
use whole_file::FileError;

/// Longest name of a stranger's file within a message, in characters.
const NAME: usize = 120;

/// Longest problem within a message, in characters.
const PROBLEM: usize = 500;

/// Why a GGUF file cannot be imported. Each message is one line and names the file.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum GgufError {
    /// The system refused to open, read, write or rename.
    #[error(transparent)]
    System(#[from] FileError),
    /// The bytes are not a whole GGUF file, or a metadata entry or tensor is missing or cannot be used.
    #[error("{}: {place}: {}", path.display(), shown(problem, PROBLEM))]
    File {
        /// The GGUF file.
        path: PathBuf,
        /// A field with its byte offset, a metadata entry or a tensor.
        place: String,
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
        move |source| Self::System(FileError::of(path, action)(source))
    }

    pub(super) fn field(path: &Path, offset: u64, field: &str, problem: impl Into<String>) -> Self {
        Self::file(path, format!("byte {offset}: {}", shown(field, NAME)), problem)
    }

    pub(super) fn metadata(path: &Path, key: &str, problem: impl Into<String>) -> Self {
        Self::file(path, format!("metadata `{}`", shown(key, NAME)), problem)
    }

    pub(super) fn tensor(path: &Path, tensor: &str, problem: impl Into<String>) -> Self {
        Self::file(path, format!("tensor `{}`", shown(tensor, NAME)), problem)
    }

    fn file(path: &Path, place: String, problem: impl Into<String>) -> Self {
        Self::File { path: path.to_owned(), place, problem: problem.into() }
    }
}
