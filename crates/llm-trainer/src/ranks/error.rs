//! What goes wrong between ranks.

use thiserror::Error;
use torch_ext::GroupError;

use super::status::Status;

/// Why ranks cannot go on together.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RankError {
    /// An operation between ranks failed, on this one.
    #[error("{status}: {cause}")]
    Operation {
        /// Where this rank stood.
        status: Box<Status>,
        /// What libtorch said; a part of the message already.
        cause: GroupError,
    },
    /// Another rank could not do its part.
    #[error("rank {rank}: {message}")]
    Elsewhere {
        /// Which.
        rank: usize,
        /// What it said.
        message: String,
    },
    /// Ranks that must have the same have not.
    #[error(
        "{what}: rank {rank} has {found}, rank 0 has {expected}, expected the same on all ranks"
    )]
    Differ {
        /// What.
        what: String,
        /// The first rank that differs.
        rank: usize,
        /// What it has.
        found: String,
        /// What rank 0 has.
        expected: String,
    },
    /// A message between ranks cannot be written or read.
    #[error("{what} between ranks: {message}")]
    Message {
        /// What it was about.
        what: &'static str,
        /// What is wrong with it.
        message: String,
    },
}
