//! Files that are written whole or not at all ([`write_atomically`], [`DirectoryInProgress`]), and read up to a bound
//! ([`read_at_most`]).

mod atomic_write;
mod bounded_read;

pub use atomic_write::{DirectoryInProgress, WriteError, write_atomically, write_atomically_with};
pub use bounded_read::{LONGEST_TEXT_BYTES, read_at_most, read_text_at_most};
