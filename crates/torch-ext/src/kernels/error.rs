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
    /// The compiler rejected the kernels.
    #[error("{compiler} does not compile the kernels: {problem}")]
    Compiler {
        /// NVRTC and the architecture, or the host's compiler.
        compiler: String,
        /// The compiler's message.
        problem: String,
    },
    /// CUDA's driver rejected a call, or a kernel did not finish.
    #[error("{call}: {problem}")]
    Launch {
        /// The call that failed.
        call: String,
        /// The driver's message.
        problem: String,
    },
    /// A kernel does not take this tensor.
    #[error("{what} is {found}, expected {expected}")]
    Argument {
        /// Role of the tensor.
        what: &'static str,
        /// Description of the tensor.
        found: String,
        /// Description of a tensor that the kernel takes.
        expected: String,
    },
    /// libtorch refused a call.
    #[error(transparent)]
    Torch(#[from] TorchError),
}

impl From<KernelError> for String {
    fn from(error: KernelError) -> Self {
        error.to_string()
    }
}
