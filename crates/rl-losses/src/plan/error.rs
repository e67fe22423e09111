//! Reasons not to make a plan.

use thiserror::Error;

use crate::{batch::Column, parameter::ParameterError};

/// Why a loss cannot be planned over a batch.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The method reads a column that the batch does not have.
    #[error("`{method}` needs the column `{column}`, which the batch does not have")]
    MissingColumn {
        /// The method, as the configuration spells it.
        method: &'static str,
        /// The column.
        column: Column,
    },
    /// The method selects within micro-batches, and the batch does not know them.
    #[error(
        "`{method}` has scope `micro-batch`, but the batch does not say what its micro-batches are"
    )]
    MissingMicroBatches {
        /// The method, as the configuration spells it.
        method: &'static str,
    },
    /// The method takes no share of the tokens, or one of each micro-batch.
    #[error("`{method}` selects no share of the mini-batch's tokens that buckets could each have")]
    NoShare {
        /// The method, as the configuration spells it.
        method: &'static str,
    },
    /// There is not one bucket for each sequence.
    #[error("`buckets` has {found} sequences, the batch has {expected}")]
    BucketLength {
        /// Buckets given.
        found: usize,
        /// Sequences of the batch.
        expected: usize,
    },
    /// A sequence is in a bucket that has no share.
    #[error(
        "`buckets` is {bucket} at sequence {index}, expected below {shares}, as there are shares"
    )]
    Bucket {
        /// The sequence.
        index: usize,
        /// Its bucket.
        bucket: usize,
        /// Number of shares.
        shares: usize,
    },
    /// A number of the method's is out of range.
    #[error("`{method}`: {source}")]
    Parameter {
        /// The method, as the configuration spells it.
        method: &'static str,
        /// Which number.
        source: ParameterError,
    },
}
