//! Errors of process groups.

use thiserror::Error;

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
    /// The store of the run could not be reached.
    #[error("{0}")]
    Unreached(String),
    /// A store cannot be served on a port that is taken.
    #[error("port {port} of this host is taken")]
    PortTaken {
        /// The requested port.
        port: u16,
    },
    /// Some ranks did not join.
    #[error("{message}")]
    Absent {
        /// This rank, the time that it waited, and the missing ranks.
        message: String,
        /// Ranks of the run that had not joined.
        missing: Vec<usize>,
    },
    /// The group cannot be formed, or the arguments of a call are invalid; no tensor was sent.
    #[error("{0}")]
    Refused(String),
    /// The operation failed or timed out.
    #[error("{message}{}", no_word(.silent))]
    Failed {
        /// The call, and the error message of libtorch.
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
}

fn no_word(silent: &[usize]) -> String {
    match silent {
        [] => String::new(),
        [rank] => format!("; no word from rank {rank}"),
        ranks => format!("; no word from ranks {ranks:?}"),
    }
}
