//! Errors between ranks.

use thiserror::Error;
use torch_ext::GroupError;

use super::heartbeat::Culprit;
use super::record::Record;
use super::status::Status;

/// Reason why the ranks cannot go on together.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RankError {
    /// An operation between ranks failed on this rank.
    #[error("{status}: {cause}")]
    Operation {
        /// State of this rank when it failed.
        status: Box<Status>,
        /// The libtorch error, already part of the message.
        cause: GroupError,
    },
    /// Another rank failed.
    #[error("rank {rank}: {message}")]
    Elsewhere {
        /// The failed rank.
        rank: usize,
        /// Error message of that rank.
        message: String,
    },
    /// Ranks differ in a value that must be equal.
    #[error(
        "{what}: rank {rank} has {found}, rank 0 has {expected}, expected the same on all ranks"
    )]
    Differ {
        /// Name of the value.
        what: String,
        /// The first rank that differs.
        rank: usize,
        /// Value of that rank.
        found: String,
        /// Value of rank 0.
        expected: String,
    },
    /// A message between ranks cannot be encoded or decoded.
    #[error("{what} between ranks: {message}")]
    Message {
        /// Subject of the message.
        what: &'static str,
        /// Reason for the failure.
        message: String,
    },
}

/// Ranks that did not report when an operation failed.
pub(super) fn suspects(error: &GroupError) -> &[usize] {
    match error {
        GroupError::Failed { silent, .. } => silent,
        _ => &[],
    }
}

/// The first [`RankError`] among the causes of a run's failure, if there is one.
pub fn between_ranks(error: &anyhow::Error) -> Option<&RankError> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

/// The other rank that made the run fail on this one, if there is one.
pub(super) fn culprit(error: &anyhow::Error) -> Option<usize> {
    let named = error.downcast_ref().map(|culprit: &Culprit| culprit.rank);
    named.or_else(|| match between_ranks(error)? {
        RankError::Elsewhere { rank, .. } | RankError::Differ { rank, .. } => Some(*rank),
        _ => None,
    })
}

/// Reason why this rank could not join the run, with a remedy.
pub(super) fn not_joined(error: GroupError) -> anyhow::Error {
    let record = match &error {
        GroupError::Absent { missing, .. } => missing.first().copied(),
        GroupError::Unreached(_) => Some(0),
        _ => None,
    };
    Record::new(error.to_string(), record).report();
    if let GroupError::Unreached(_) = error {
        anyhow::anyhow!(
            "{error}; expected it to be served there by rank 0, or by its launcher, within \
             parallel.connect_seconds"
        )
    } else {
        error.into()
    }
}
