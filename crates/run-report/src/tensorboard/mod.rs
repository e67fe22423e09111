//! Metrics as the event files that TensorBoard reads.
//!
//! A folder of events is a picture of `metrics.jsonl`: one file holds every step once. A run that goes on begins a new one,
//! which takes over what the old one said of the steps that still count, wall times included, and empties the old. The new file
//! declares a new session at step 0, so that a TensorBoard that is looking forgets what it had read.
//!
//! The formats are those of the package `tensorboard`: `record_writer.py`, `event.proto`, `summary.proto`.

mod event;
mod histogram;
mod record;
mod writer;

use std::path::PathBuf;

use thiserror::Error;
use whole_file::WriteError;

pub use event::{
    Event, HistogramProto, PluginData, SessionLog, Summary, SummaryMetadata, Value, ValueKind, What,
};
pub use histogram::histogram;
pub use record::{RecordError, frame, read_records};
pub use writer::{EventWriter, event_files, read_events};

/// Why events cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum EventError {
    /// A file or folder cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A record is not what TensorBoard writes.
    #[error("{}: {source}", path.display())]
    Record {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        source: RecordError,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
