//! Grids of runs that any number of processes compute together and that may be killed at any time.
//!
//! A sweep is a list of cells ([`Plan`]), each known by a hash of its settings, so that neither the
//! order of the grid nor the number of shards matters. A shard appends what it has computed to a file
//! of its own in the sweep's folder, a batch of lines at a time and synced; what is found in any file
//! of the folder is not computed again. [`merge`] makes one table of all files.

mod cell;
mod folder;
mod merge;
mod plan;
mod run;
mod shard;

pub use cell::{CellResult, CellSettings, Figures};
pub use folder::{Contents, Folder, Record};
pub use merge::{Merged, merge};
pub use plan::{Cell, Plan};
pub use run::{Tally, run_shard};
pub use shard::Shard;

use thiserror::Error;
use whole_file::FileError;

/// Why a sweep cannot be read, run or merged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SweepError(String);

impl From<FileError> for SweepError {
    fn from(error: FileError) -> Self {
        Self(error.to_string())
    }
}
