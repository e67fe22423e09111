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
    /// A number of the method's is out of range, or its selection does not fit the micro-batches or the buckets.
    #[error("{0}")]
    Unfit(String),
}

impl PlanError {
    /// A number of a method's that is out of range.
    pub(super) fn of(method: &str, number: &ParameterError) -> Self {
        Self::Unfit(format!("`{method}`: {number}"))
    }
}
