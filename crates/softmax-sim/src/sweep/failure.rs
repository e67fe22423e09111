//! Why a sweep could not go on.

use super::plan::PlanError;
use crate::result_file::FileError;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a sweep could not be run or merged.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SweepError {
    /// The configuration is no sweep.
    #[error("{}", path.display())]
    Plan {
        /// The file.
        path: PathBuf,
        /// Error in the configuration.
        source: PlanError,
    },
    /// A file or folder cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// Another sweep or process has the folder or a file of it, or cells have two results.
    #[error("{0}")]
    Refused(String),
}

impl SweepError {
    /// Returns a conversion for `map_err`.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let error = FileError::of(path, action);
        move |source| error(source).into()
    }
}
