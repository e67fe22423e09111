//! Error of a file or directory that was not written or read.

use std::fmt::Display;
use std::io;
use std::path::Path;

use thiserror::Error;

/// Why a file or directory cannot be read, written or used; a failed write leaves the previous content.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct FileError {
    place: String,
    problem: String,
}

impl FileError {
    /// Returns a function that wraps the error of `action` on `path`.
    pub fn of(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |error| Self::content(&path, format!("cannot {action}: {error}"))
    }

    /// A fault in the content of a file or directory, and what was expected.
    pub fn content(path: &Path, problem: impl Display) -> Self {
        Self::at(path.display(), problem)
    }

    /// A fault at another place: a line of a file, the name of files, or an option.
    pub fn at(place: impl Display, problem: impl Display) -> Self {
        Self { place: place.to_string(), problem: problem.to_string() }
    }
}

/// Returns the content of a file or folder, as it was `read`; `None` if there is none of that name.
///
/// # Errors
///
/// Any other error of the system.
pub fn if_there<T>(path: &Path, read: io::Result<T>) -> Result<Option<T>, FileError> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(FileError::of(path, "read")),
    }
}
