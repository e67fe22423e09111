//! Errors of this crate's kernels.

use std::fmt::Display;

use thiserror::Error;

use crate::TorchError;

/// Reason why there are no kernels for a device, or why one was not run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct KernelError(pub(crate) String);

impl KernelError {
    /// A call that CUDA's driver rejected, or a kernel that did not finish.
    pub(super) fn of_call(call: &str, problem: impl Display) -> Self {
        Self(format!("{call}: {problem}"))
    }

    /// A library, or names that were looked for, that is missing or not the expected one.
    pub(super) fn of_library(name: &str, problem: &str) -> Self {
        Self(format!("{name} cannot be used: {problem}"))
    }

    /// Kernels that a compiler, or NVRTC for an architecture, rejected.
    pub(super) fn of_compiler(compiler: &str, problem: impl Display) -> Self {
        Self(format!("{compiler} does not compile the kernels: {problem}"))
    }
}

impl From<TorchError> for KernelError {
    fn from(error: TorchError) -> Self {
        Self(error.to_string())
    }
}

impl From<KernelError> for String {
    fn from(error: KernelError) -> Self {
        error.0
    }
}
