//! Parts of libtorch that `tch` leaves out. They are vector–Jacobian products with a given cotangent, operations with a custom
//! backward function, registered operators by name, loading of CUDA at run time by a binary built without it, custom kernels
//! compiled at run time, access to a tensor's numbers in place, and collectives over several processes.
//!
//! This is the only crate of the workspace with `unsafe`; each block says why it is sound. A libtorch exception becomes
//! [`TorchError`], never an abort. What allocates tensors panics if the device has too little memory.

mod autograd;
mod cuda_libraries;
mod device;
pub mod distributed;
mod exit_at_once;
mod host;
mod kernels;
mod memory;
mod operator;

pub use autograd::{autograd_function, backward, set_gradient, vector_jacobian_product};
pub use cuda_libraries::{CUDA_LIBRARIES, CudaLibrary, missing_cuda_libraries};
pub use device::{
    Libtorch, cuda_memory_info, cuda_peak_reserved_bytes, libtorch, load_cuda, repeat_bits,
};
pub use distributed::{GroupError, GroupOptions, Placement, ProcessGroup, ReduceOp, Store, Work};
pub use exit_at_once::exit_at_once;
pub use host::{HostNumbers, Numbers, NumbersMut, change_numbers, prefetch};
pub use kernels::{AdamwFactors, AdamwTensors, CudaDriver, CudaKernels, KernelError, cuda_driver};
pub use memory::{keep_freed_memory, prefer_large_pages};
pub use operator::{Argument, Ragged, add_product, call, fused_adamw, ragged_flash_attention};

use std::ffi::{CStr, c_char, c_int};

use tch::Tensor;
use thiserror::Error;

/// The message of a libtorch exception, without its C++ stack trace.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("libtorch: {message}")]
pub struct TorchError {
    message: String,
}

impl From<TorchError> for String {
    fn from(error: TorchError) -> Self {
        error.to_string()
    }
}

unsafe extern "C" {
    fn torch_ext_take_error() -> *mut c_char;
}

impl TorchError {
    /// The error that the last failed call on this thread left behind.
    fn take() -> Self {
        // SAFETY: takes no argument; the answer is null or a string that `owned_string` frees once.
        let message = unsafe { owned_string(torch_ext_take_error()) };
        Self { message: message.unwrap_or_else(|| "no message".to_owned()) }
    }

    /// The error of a call that answers `status`, unless that is 0.
    fn check(status: c_int) -> Result<(), Self> {
        if status == 0 { Ok(()) } else { Err(Self::take()) }
    }

    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}

/// A count as one of libtorch's sizes.
///
/// # Panics
///
/// Never: counts are far below 2^63.
pub fn size(count: usize) -> i64 {
    i64::try_from(count).expect("counts are far below 2^63")
}

/// Size of a tensor's elements in bytes.
pub fn byte_count(tensor: &Tensor) -> usize {
    tensor.numel() * tensor.kind().elt_size_in_bytes()
}

fn c_count(count: usize) -> c_int {
    c_int::try_from(count).expect("fewer items than c_int holds")
}

/// Copies and frees a C string; null is `None`.
///
/// # Safety
///
/// `text` is null or a NUL-terminated string from `malloc` that nothing else owns.
unsafe fn owned_string(text: *mut c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    // SAFETY: not null, and by the contract NUL-terminated.
    let copy = unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned();
    // SAFETY: by the contract from `malloc`, and not used after this.
    unsafe { libc::free(text.cast()) };
    Some(copy)
}
