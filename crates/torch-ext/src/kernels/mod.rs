//! Kernels of our own for decoding in bf16, where libtorch has several operators or none.
//!
//! Carried as source (`cuda/*.cu`), compiled by NVRTC for the device that is there and run by CUDA's driver on libtorch's current stream:
//! neither is needed to build this crate or to run without it. The same source compiled by the host's C++ compiler runs on tensors of the
//! CPU, one thread after another, for tests.

mod driver;
mod emulation;
mod error;
mod library;
mod nvrtc;
mod operations;
mod source;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tch::Device;

use driver::Module;
pub use driver::{CudaDriver, cuda_driver};
use emulation::Emulation;
pub use error::KernelError;
pub(crate) use library::Library;
use source::{Kernel, Launch};

/// The kernels, compiled for one device.
///
/// They know nothing of autograd: what they answer with has no graph, and what they change in place is not noticed. As libtorch's
/// operators do, they run behind what the device was given before; a tensor may be dropped as soon as they were called.
#[derive(Debug)]
pub struct DecodingKernels {
    device: Device,
    code: Code,
}

#[derive(Debug)]
enum Code {
    Device(Module),
    Host(Emulation),
}

type Loaded = Result<Arc<DecodingKernels>, KernelError>;

impl DecodingKernels {
    /// The kernels for a CUDA device, compiled when they are first asked for; later calls repeat the first answer.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if the device is none of CUDA's, NVRTC or the driver is missing, or either refuses the kernels.
    pub fn on(device: Device) -> Loaded {
        static LOADED: Mutex<BTreeMap<usize, Loaded>> = Mutex::new(BTreeMap::new());
        let Device::Cuda(index) = device else {
            return Err(KernelError::Device(device));
        };
        // Whoever panicked meanwhile has left the map whole.
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let load = || Ok(Arc::new(Self { device, code: Code::Device(Module::load(index)?) }));
        loaded.entry(index).or_insert_with(load).clone()
    }

    /// The same source on the CPU, for tests: compiled by `$CXX` or `c++`, once a process. Threads of a block run one after another from
    /// barrier to barrier, so that a missing barrier shows; one kernel runs at a time in the process.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if there is no compiler, or it refuses the kernels.
    pub fn emulated() -> Loaded {
        static COMPILED: OnceLock<Loaded> = OnceLock::new();
        let compile = || {
            let code = Code::Host(Emulation::compile()?);
            Ok(Arc::new(Self { device: Device::Cpu, code }))
        };
        COMPILED.get_or_init(compile).clone()
    }

    /// # Safety
    ///
    /// The arguments are those of the kernel, and addresses of memory of this device that holds what it reads and writes.
    unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), KernelError> {
        match &self.code {
            // SAFETY: by the contract; memory that libtorch frees meanwhile is used again behind this kernel, on the same stream.
            Code::Device(module) => unsafe { module.launch(launch) },
            // SAFETY: by the contract.
            Code::Host(emulation) => unsafe { emulation.launch(launch) },
        }
    }
}
