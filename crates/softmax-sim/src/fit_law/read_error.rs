//! Files without points.

use std::io;
use thiserror::Error;

/// Why no row of a file can be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The input could not be read.
    #[error("cannot read the points")]
    Read(#[source] io::Error),
    /// There is nothing in it.
    #[error("no points: expected CSV with a header, JSON lines or a JSON array of objects")]
    Empty,
    /// No row has a value in either column.
    #[error("no row has a value of `{entropy}` or `{reward}`; expected numbers in both columns")]
    NoValues {
        /// The column of the entropy.
        entropy: String,
        /// The column of the reward.
        reward: String,
    },
    /// The CSV header lacks a column.
    #[error("line 1: no column `{column}`; expected it among: {found}")]
    Column {
        /// The column asked for.
        column: String,
        /// The header.
        found: String,
    },
}
