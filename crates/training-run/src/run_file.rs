//! Files and folders of a run: their entries, and errors.

use std::fmt::Display;
use std::io;
use std::path::{Path, PathBuf};

use thiserror::Error;
use whole_file::FileError;

/// Why a file or folder of a run cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunFileError {
    /// The system cannot read or write a file or folder.
    #[error(transparent)]
    System(#[from] FileError),
    /// A file or folder does not hold what was expected.
    #[error("{place}: {problem}")]
    Content {
        /// Path of the file or folder; metrics add `:LINE`, and a path given by `--resume` has that option in front.
        place: String,
        /// Fault, and what was expected; for saved rollouts with the number of the line.
        problem: String,
    },
}

impl RunFileError {
    /// A fault in the content of a file or folder.
    pub(crate) fn of(path: &Path, problem: impl Display) -> Self {
        Self::Content { place: path.display().to_string(), problem: problem.to_string() }
    }
}

/// Lists the paths in a folder, in no order.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let entries = std::fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()
    });
    entries.map_err(FileError::of(folder, "read"))
}
