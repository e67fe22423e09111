//! What goes wrong between ranks.

use thiserror::Error;
use torch_ext::GroupError;

use super::record::Record;
use super::status::Status;
use super::watch::Culprit;

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

/// Ranks that gave no word when an operation failed.
pub(super) fn suspects(error: &GroupError) -> &[usize] {
    match error {
        GroupError::Failed { silent, .. } => silent,
        _ => &[],
    }
}

/// The failure between ranks that made a run fail, if that was it: the first [`RankError`] among the causes.
pub(crate) fn between_ranks(error: &anyhow::Error) -> Option<&RankError> {
    error.chain().find_map(|cause| cause.downcast_ref())
}

/// The rank that made a run fail on this one, if that was another.
pub(super) fn culprit(error: &anyhow::Error) -> Option<usize> {
    let named = error.downcast_ref().map(|culprit: &Culprit| culprit.rank);
    named.or_else(|| match between_ranks(error)? {
        RankError::Elsewhere { rank, .. } | RankError::Differ { rank, .. } => Some(*rank),
        _ => None,
    })
}

/// Why a rank is not part of the run, with what to do.
pub(super) fn not_joined(error: GroupError) -> anyhow::Error {
    let is_unserved = matches!(error, GroupError::Coordinator { action: "reach", .. });
    let record = match &error {
        GroupError::Absent { missing, .. } => missing.first().copied(),
        GroupError::Coordinator { .. } if is_unserved => Some(0),
        _ => None,
    };
    Record::new(error.to_string(), record).leave();
    if is_unserved {
        anyhow::anyhow!(
            "{error}; expected it to be served there by rank 0, or by its launcher, within \
             parallel.connect_seconds"
        )
    } else {
        error.into()
    }
}
