//! Errors of files and directories that were not written or read.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A failed write; the previous content is untouched.
#[derive(Debug, Error)]
#[error("{}: cannot {action}: {source}", path.display())]
pub struct WriteError {
    /// File or directory to be written.
    pub path: PathBuf,
    /// Operation that failed.
    pub action: &'static str,
    /// The system's error.
    pub source: io::Error,
}

impl WriteError {
    /// Returns a function that wraps the error of `action` on `path`.
    pub fn of(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self { path, action, source }
    }
}

/// A file or directory that cannot be read.
#[derive(Debug, Error)]
#[error("{}: cannot read: {source}", path.display())]
pub struct ReadError {
    /// The file or directory.
    pub path: PathBuf,
    /// The system's error.
    pub source: io::Error,
}

impl ReadError {
    /// Returns a function that wraps the error of reading `path`.
    pub fn of(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self { path, source }
    }
}
