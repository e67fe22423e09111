//! Why a file or folder was not written.

use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A write that did not happen; what was there before is untouched.
#[derive(Debug, Error)]
#[error("{}: cannot {action}: {source}", path.display())]
pub struct WriteError {
    /// What was to be written.
    pub path: PathBuf,
    /// What was tried.
    pub action: &'static str,
    /// What the system said.
    pub source: io::Error,
}

impl WriteError {
    /// The error of trying `action` on `path`.
    pub fn of(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_path_buf();
        move |source| Self { path, action, source }
    }
}
