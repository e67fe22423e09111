//! Errors of an update.

use rl_losses::{BatchError, ColumnError, PlanError};
use thiserror::Error;
use torch_ext::TorchError;

use ranks::RankError;

/// Reason why an update failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The statistics of a mini-batch do not form a batch, because the model's output is not finite.
    #[error("mini-batch {mini_batch} of step {step}: {source}")]
    Batch {
        /// Training step.
        step: u64,
        /// Mini-batch within the step, counted over all epochs.
        mini_batch: usize,
        /// The error in the batch.
        source: BatchError,
    },
    /// The loss cannot be planned over a mini-batch.
    #[error("mini-batch {mini_batch} of step {step}: {source}")]
    Plan {
        /// Training step.
        step: u64,
        /// Mini-batch within the step, counted over all epochs.
        mini_batch: usize,
        /// The error of the plan.
        source: PlanError,
    },
    /// The divergence from the reference cannot be computed.
    #[error("mini-batch {mini_batch} of step {step}: divergence from the reference: {source}")]
    Reference {
        /// Training step.
        step: u64,
        /// Mini-batch within the step, counted over all epochs.
        mini_batch: usize,
        /// The error in the columns.
        source: ColumnError,
    },
    /// Log-probabilities of the reward model, or of its reference, are not finite.
    #[error("reward model, mini-batch {mini_batch} of step {step}: {source}")]
    Outcomes {
        /// Training step.
        step: u64,
        /// Mini-batch within the step.
        mini_batch: usize,
        /// The error in the columns.
        source: ColumnError,
    },
    /// libtorch refused.
    #[error(transparent)]
    Torch(#[from] TorchError),
    /// The ranks cannot go on together.
    #[error("{0}")]
    Ranks(#[from] RankError),
}
