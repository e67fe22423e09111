//! Errors of reading and writing saved rollouts.

use std::io;
use std::path::PathBuf;

use thiserror::Error;
use whole_file::WriteError;

/// Why a saved rollout cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SavedRolloutError {
    /// A folder or file cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The folder or file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The folder lacks the file of the step.
    #[error("{}: no rollout of step {step}, {}", directory.display(), list(saved))]
    Missing {
        /// The folder.
        directory: PathBuf,
        /// The step.
        step: u64,
        /// Steps that the folder has, ascending.
        saved: Vec<u64>,
    },
    /// The file is damaged.
    #[error("{}: line {line}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: usize,
        /// Description of the fault and of what was expected.
        problem: String,
    },
    /// The responses were sampled in another run, which this one cannot continue.
    #[error("{}: sampled by another run: {difference}", path.display())]
    Origin {
        /// The file.
        path: PathBuf,
        /// Description of the difference.
        difference: String,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

fn list(saved: &[u64]) -> String {
    match saved {
        [] => "nor of any other".to_owned(),
        [one] => format!("only of step {one}"),
        [first, .., last] => {
            let count = saved.len();
            format!("expected one of the {count} from step {first} to step {last}")
        }
    }
}
