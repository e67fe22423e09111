//! Files and folders that are written whole or not at all ([`write_atomically`], [`DirectoryInProgress`]), and files that are
//! read up to a bound ([`open_regular`], [`read_at_most`], [`NumberedLines`]).
//!
//! Everything is built under a temporary name in the folder it will live in, flushed to the disk, then
//! renamed. A full disk or a killed process leaves the old state, never half of the new one.

mod bounded_read;
mod directory;
mod error;
mod file;
mod lines;
mod lock;

pub use bounded_read::{LONGEST_TEXT_BYTES, open_regular, read_at_most, read_text_at_most};
pub use directory::DirectoryInProgress;
pub use error::{FileError, if_there};
pub use file::{sync_folder, write_atomically, write_atomically_with, write_new};
pub use lines::{
    LONGEST_LINE_BYTES, LONGEST_RECORD_BYTES, NumberedLine, NumberedLines, without_mark,
};
pub use lock::FolderLock;
