//! Why a sweep could not go on.

use super::plan::PlanError;
use crate::result_file::FileError;
use std::path::PathBuf;
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
    /// The folder was begun by another sweep.
    #[error(
        "{} holds another sweep: {missing} of its {held} cells are not in this one, which has {cells}; \
         expected the same cells, or another folder",
        path.display()
    )]
    AnotherSweep {
        /// The folder.
        path: PathBuf,
        /// Cells of the sweep in the folder.
        held: usize,
        /// Cells of those that this sweep lacks.
        missing: usize,
        /// Cells of this sweep.
        cells: usize,
    },
    /// Another process writes the file of this shard.
    #[error("{} is being written by another process: expected one process for a shard", path.display())]
    Busy {
        /// The shard's file.
        path: PathBuf,
    },
    /// Cells have two results.
    #[error("{count} cells have results that differ, such as {}", cells.join("; "))]
    Conflict {
        /// Number of the cells.
        count: usize,
        /// The first few, each with the files that hold its results.
        cells: Vec<String>,
    },
}

/// A complete line of a shard's file that is no result. Its cell counts as not computed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{} line {line}: no result of a cell ({reason}); expected {{\"key\": …, \"outcome\": …}}", path.display())]
pub struct DamagedLine {
    /// The file.
    pub path: PathBuf,
    /// Number of the line, from 1.
    pub line: usize,
    /// Reason, in words.
    pub reason: String,
}
