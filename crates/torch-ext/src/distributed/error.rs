//! Errors of process groups.

use std::time::Duration;

use thiserror::Error;

use super::operation::Call;
use super::placement::PlacementError;

/// A group that could not be formed, or an operation of it that failed.
///
/// After an operation fails or times out, the connections of its group are closed: every later operation fails too, on every
/// rank. Start the processes again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The environment does not define this process's place in the run.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The store of the run could not be served or reached.
    #[error("rank {rank} of {world_size} could not {action} the store at {host}:{port}: {message}")]
    Coordinator {
        /// Rank of this process.
        rank: usize,
        /// Number of processes of the run.
        world_size: usize,
        /// `serve` or `reach`.
        action: &'static str,
        /// Host as named in the environment.
        host: String,
        /// Port as named in the environment.
        port: u16,
        /// Reason for the failure.
        message: String,
    },
    /// A store cannot be served on a port that is taken.
    #[error("port {port} of this host is taken")]
    PortTaken {
        /// The requested port.
        port: u16,
    },
    /// Some ranks did not join.
    #[error(
        "rank {rank} of {world_size} waited {} s for all to join, without ranks {missing:?}",
        timeout.as_secs_f64()
    )]
    Absent {
        /// Rank of this process.
        rank: usize,
        /// Number of processes of the run.
        world_size: usize,
        /// Ranks of the run that had not joined.
        missing: Vec<usize>,
        /// Time that this rank waited.
        timeout: Duration,
    },
    /// Two processes claim the same rank.
    #[error("rank {rank} of {world_size} has joined already, expected one process a rank")]
    Twice {
        /// The rank that was claimed twice.
        rank: usize,
        /// Number of processes of the run.
        world_size: usize,
    },
    /// All ranks joined, but the back-end could not connect them.
    #[error("rank {rank} of {world_size} could not connect to ranks {members:?}: {message}")]
    Connect {
        /// Rank of this process.
        rank: usize,
        /// Number of processes of the run.
        world_size: usize,
        /// Ranks of the group.
        members: Vec<usize>,
        /// Error message of libtorch.
        message: String,
    },
    /// The list of ranks is no sub-group of this rank.
    #[error("rank {rank} of {world_size}: no sub-group of ranks {ranks:?}: {problem}")]
    SubGroup {
        /// Rank of this process.
        rank: usize,
        /// Number of processes of the run.
        world_size: usize,
        /// The given list of ranks.
        ranks: Vec<usize>,
        /// The error in the list.
        problem: String,
    },
    /// The arguments are invalid; nothing was sent.
    #[error("{call}: {problem}")]
    Argument {
        /// The call.
        call: Box<Call>,
        /// The error, and the expected value.
        problem: String,
    },
    /// The operation failed or timed out.
    #[error("{call}: {message}{}", no_word(.silent))]
    Failed {
        /// The call.
        call: Box<Call>,
        /// Error message of libtorch.
        message: String,
        /// Ranks of the run in the call that did not report a failure: dead, stopped, or busy with another call.
        silent: Vec<usize>,
    },
    /// A request to the store failed.
    #[error("store: {action} {key:?}: {message}")]
    Store {
        /// The request: `set`, `get`, `add`, `check`, `wait for`, `connect`.
        action: &'static str,
        /// Key of the request.
        key: String,
        /// Error message of libtorch.
        message: String,
    },
    /// Tensors on CUDA need a libtorch with a usable NCCL.
    #[error("no NCCL for device {device}: {problem}")]
    Nccl {
        /// Index of the CUDA device.
        device: usize,
        /// The missing part.
        problem: String,
    },
}

fn no_word(silent: &[usize]) -> String {
    match silent {
        [] => String::new(),
        [rank] => format!("; no word from rank {rank}"),
        ranks => format!("; no word from ranks {ranks:?}"),
    }
}
