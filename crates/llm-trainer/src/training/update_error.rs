//! Errors of an update.

use thiserror::Error;
use torch_ext::TorchError;

use ranks::RankError;

/// Reason why an update failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The statistics of a mini-batch are not finite, or the loss cannot be planned over it.
    #[error("{model}mini-batch {mini_batch} of step {step}: {part}{source}")]
    MiniBatch {
        /// The model that is updated, with a comma; empty for the policy.
        model: &'static str,
        /// Training step.
        step: u64,
        /// Mini-batch within the step, counted over all epochs.
        mini_batch: usize,
        /// Part of the loss that fails, with a colon; empty for the policy loss.
        part: &'static str,
        /// The error in the batch, its columns or the plan.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// libtorch refused.
    #[error(transparent)]
    Torch(#[from] TorchError),
    /// The ranks cannot go on together.
    #[error("{0}")]
    Ranks(#[from] RankError),
}
