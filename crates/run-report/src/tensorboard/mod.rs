//! Metrics as the event files that TensorBoard reads.
//!
//! A folder of events mirrors `metrics.jsonl`: one file holds every step once. A resumed run begins a new file. That file takes
//! over the events of the steps that still count, wall times included, and the old file is emptied. The new file declares a new
//! session at step 0, so that a running TensorBoard discards what it has read.
//!
//! The formats are those of the package `tensorboard`: `record_writer.py`, `event.proto`, `summary.proto`.

mod event;
mod record;
mod writer;

pub use event::{
    Event, EventContent, HistogramProto, PluginData, SessionLog, Summary, SummaryMetadata, Value,
    ValueKind, histogram,
};
pub use record::{frame, read_records};
pub use writer::{EventWriter, event_files, read_events};
