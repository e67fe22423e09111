//! Error of a file or directory that was not written or read.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A file or directory that cannot be read or written; a failed write leaves the previous content.
#[derive(Debug, Error)]
#[error("{}: cannot {action}: {source}", path.display())]
pub struct FileError {
    /// The file or directory.
    pub path: PathBuf,
    /// Operation that failed.
    pub action: &'static str,
    /// The system's error.
    pub source: io::Error,
}

impl FileError {
    /// Returns a function that wraps the error of `action` on `path`.
    pub fn of(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self { path, action, source }
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
