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
