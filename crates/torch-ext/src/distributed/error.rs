//! Why processes do not work together.

use std::time::Duration;

use thiserror::Error;

use super::operation::Call;
use super::placement::PlacementError;

/// A group that did not come together, or an operation of it that failed.
///
/// After an operation that failed, or ran out of time, the connections of its group are closed: every later operation
/// fails too, on every rank. Start the processes again.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum GroupError {
    /// The environment does not say which process this is.
    #[error(transparent)]
    Placement(#[from] PlacementError),
    /// The store of the run could not be served or reached.
    #[error("rank {rank} of {world_size} could not {action} the store at {host}:{port}: {message}")]
    Coordinator {
        /// This process.
        rank: usize,
        /// Processes of the run.
        world_size: usize,
        /// `serve` or `reach`.
        action: &'static str,
        /// As the environment named it.
        host: String,
        /// As the environment named it.
        port: u16,
        /// Why not.
        message: String,
    },
    /// A store cannot be served where something else listens.
    #[error("port {port} of this host is taken")]
    PortTaken {
        /// As it was asked for.
        port: u16,
    },
    /// Some ranks did not come.
    #[error(
        "rank {rank} of {world_size} waited {} s for all to join, without ranks {missing:?}",
        timeout.as_secs_f64()
    )]
    Absent {
        /// This process.
        rank: usize,
        /// Processes of the run.
        world_size: usize,
        /// Ranks of the run that had not joined.
        missing: Vec<usize>,
        /// How long this one waited.
        timeout: Duration,
    },
    /// Two processes believe that they are the same rank.
    #[error("rank {rank} of {world_size} has joined already, expected one process a rank")]
    Twice {
        /// That rank.
        rank: usize,
        /// Processes of the run.
        world_size: usize,
    },
    /// All ranks are there, but the back-end could not connect them.
    #[error("rank {rank} of {world_size} could not connect to ranks {members:?}: {message}")]
    Connect {
        /// This process.
        rank: usize,
        /// Processes of the run.
        world_size: usize,
        /// Ranks of the group.
        members: Vec<usize>,
        /// What libtorch said.
        message: String,
    },
    /// A list of ranks that is no sub-group of this rank.
    #[error("rank {rank} of {world_size}: no sub-group of ranks {ranks:?}: {problem}")]
    SubGroup {
        /// This process.
        rank: usize,
        /// Processes of the run.
        world_size: usize,
        /// As they were given.
        ranks: Vec<usize>,
        /// What is wrong with them.
        problem: String,
    },
    /// Arguments that no rank can have meant; nothing was sent.
    #[error("{call}: {problem}")]
    Argument {
        /// The call.
        call: Box<Call>,
        /// What is wrong, and what was expected.
        problem: String,
    },
    /// The ranks do not call the same; found before anything was sent, with `GroupOptions::verify`.
    #[error("{call}, but rank {peer} calls {theirs}")]
    Disagreement {
        /// The call of this rank.
        call: Box<Call>,
        /// The first rank that calls something else.
        peer: usize,
        /// What that rank calls.
        theirs: String,
    },
    /// The operation failed or ran out of time.
    #[error("{call}: {message}{}", no_word(.silent))]
    Failed {
        /// The call.
        call: Box<Call>,
        /// What libtorch said.
        message: String,
        /// Ranks of the run in the call that did not report a failure too: dead, stopped, or busy with something else.
        silent: Vec<usize>,
    },
    /// A question to the store that has no answer.
    #[error("store: {action} {key:?}: {message}")]
    Store {
        /// What was asked: `set`, `get`, `add`, `check`, `wait for`, `connect`.
        action: &'static str,
        /// Of which key.
        key: String,
        /// What libtorch said.
        message: String,
    },
    /// Tensors on CUDA need a libtorch that NCCL can be reached in.
    #[error("no NCCL for device {device}: {problem}")]
    Nccl {
        /// Index of the CUDA device.
        device: usize,
        /// What is missing.
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
