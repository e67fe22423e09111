//! Errors of this crate's kernels.

use tch::Device;
use thiserror::Error;

use crate::TorchError;

/// Reason why there are no kernels for a device, or why one was not run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// Kernels are not compiled for this kind of device.
    #[error("kernels are for CUDA devices, not for {0:?}")]
    Device(Device),
    /// A library is missing, or is not the expected one.
    #[error("{name} cannot be used: {problem}")]
    Library {
        /// The library, or the names that were looked for.
        name: String,
        /// The loader's message.
        problem: String,
    },
    /// The compiler rejected the kernels, CUDA's driver a call, or a kernel a tensor; or a kernel did not finish.
    #[error("{0}")]
    Refused(String),
    /// libtorch refused a call.
    #[error(transparent)]
    Torch(#[from] TorchError),
}
