//! Why a kernel of our own cannot be used.

use tch::Device;
use thiserror::Error;

use crate::TorchError;

/// Why there are no kernels of our own for a device, or one was not run.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The device is none that kernels are compiled for.
    #[error("kernels are for CUDA devices, not for {0:?}")]
    Device(Device),
    /// A library is not there, or is another than was expected.
    #[error("{name} cannot be used: {problem}")]
    Library {
        /// The library, or the names that were looked for.
        name: String,
        /// The loader's own words.
        problem: String,
    },
    /// The compiler refused the kernels.
    #[error("{compiler} does not compile the kernels: {problem}")]
    Compiler {
        /// NVRTC and the architecture, or the host's compiler.
        compiler: String,
        /// Its own words.
        problem: String,
    },
    /// CUDA's driver refused a call, or a kernel did not run to its end.
    #[error("{call}: {problem}")]
    Launch {
        /// What was called.
        call: String,
        /// The driver's own words.
        problem: String,
    },
    /// A tensor is not what the kernel takes.
    #[error("{what} is {found}, expected {expected}")]
    Argument {
        /// Its role.
        what: &'static str,
        /// What it is.
        found: String,
        /// What would have been taken.
        expected: String,
    },
    /// libtorch refused a call.
    #[error(transparent)]
    Torch(#[from] TorchError),
}
