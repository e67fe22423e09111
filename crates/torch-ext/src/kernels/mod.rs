//! Custom kernels for decoding in bf16 and for the optimiser, where libtorch needs several operators or has none.
//!
//! The kernels are part of this crate as source (`cuda/*.cu`). NVRTC compiles them for the present device, and CUDA's driver
//! runs them on libtorch's current stream. Neither is needed to build this crate or to run without kernels. For tests, the
//! host's C++ compiler compiles the same source for tensors on the CPU, one thread after another.

mod adamw;
mod driver;
mod emulation;
mod error;
mod library;
mod nvrtc;
mod operations;
mod source;
mod training;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use tch::Device;

pub use adamw::{AdamwFactors, AdamwTensors};
use driver::Module;
pub use driver::{CudaDriver, cuda_driver};
use emulation::Emulation;
pub use error::KernelError;
pub(crate) use library::Library;
use source::{Kernel, Launch};

/// The kernels, compiled for one device.
///
/// They are outside of autograd: their results have no graph, and changes in place are not tracked. Like libtorch's operators,
/// they run in stream order; a tensor may be dropped as soon as the call returns.
#[derive(Debug)]
pub struct CudaKernels {
    device: Device,
    code: Code,
}

#[derive(Debug)]
enum Code {
    Device(Module),
    Host(Emulation),
}

type Loaded = Result<Arc<CudaKernels>, KernelError>;

impl CudaKernels {
    /// The kernels for a CUDA device, compiled at the first call; later calls repeat the first result.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if the device is not a CUDA device, NVRTC or the driver is missing, or either rejects the kernels.
    pub fn on(device: Device) -> Loaded {
        static LOADED: Mutex<BTreeMap<usize, Loaded>> = Mutex::new(BTreeMap::new());
        let Device::Cuda(index) = device else {
            return Err(KernelError(format!("kernels are for CUDA devices, not for {device:?}")));
        };
        // A panic while the lock was held cannot have left the map inconsistent.
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        let load = || Ok(Arc::new(Self { device, code: Code::Device(Module::load(index)?) }));
        loaded.entry(index).or_insert_with(load).clone()
    }

    /// The kernels on the CPU, for tests: compiled by `$CXX` or `c++`, once per process. Threads of a block run one after
    /// another from barrier to barrier, so that a missing barrier shows. One kernel runs at a time in the process.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if there is no compiler, or it rejects the kernels.
    pub fn emulated() -> Loaded {
        static COMPILED: OnceLock<Loaded> = OnceLock::new();
        let compile = || {
            let code = Code::Host(Emulation::compile()?);
            Ok(Arc::new(Self { device: Device::Cpu, code }))
        };
        COMPILED.get_or_init(compile).clone()
    }
}
