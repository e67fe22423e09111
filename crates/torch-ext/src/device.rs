//! Which libtorch this is, and whether it sees a CUDA device.

use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::{TorchError, owned_string};

unsafe extern "C" {
    fn torch_ext_load_cuda() -> c_int;
    fn torch_ext_built_against() -> *const c_char;
    fn torch_ext_show_config() -> *mut c_char;
    fn torch_ext_cuda_memory(device: c_int, out: *mut i64) -> c_int;
    fn torch_ext_cuda_memory_room(device: c_int, out: *mut u64) -> c_int;
    fn torch_ext_library_path() -> *mut c_char;
}

/// Loads libtorch's CUDA half if it and its libraries are there; later calls repeat the first answer.
///
/// Must run before the first question about CUDA: libtorch keeps the first answer for good.
///
/// # Errors
///
/// [`TorchError`] with the loader's reason; the process goes on with the CPU.
pub fn load_cuda() -> Result<(), TorchError> {
    static LOADED: OnceLock<Result<(), TorchError>> = OnceLock::new();
    LOADED
        .get_or_init(|| {
            // SAFETY: takes no argument; loading runs the library's own initialisers only.
            if unsafe { torch_ext_load_cuda() } == 1 { Ok(()) } else { Err(TorchError::take()) }
        })
        .clone()
}

/// What is known of the libtorch in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Libtorch {
    /// Version of the headers this binary was compiled with.
    pub built_against: String,
    /// libtorch's own description of the loaded library: compiler, BLAS, instruction set.
    pub configuration: String,
}

/// Describes the libtorch in use.
pub fn libtorch() -> Libtorch {
    // SAFETY: the answer is a string literal of the C++ half.
    let built_against = unsafe { CStr::from_ptr(torch_ext_built_against()) };
    // SAFETY: the answer is a string from `strdup` that nothing else owns.
    let configuration = unsafe { owned_string(torch_ext_show_config()) };
    Libtorch {
        built_against: built_against.to_string_lossy().into_owned(),
        configuration: configuration.unwrap_or_default(),
    }
}

/// The folder that libtorch was loaded from, where the loader says.
pub(crate) fn library_folder() -> Option<PathBuf> {
    // SAFETY: the answer is null or a string from `strdup` that nothing else owns.
    let path = unsafe { owned_string(torch_ext_library_path()) }?;
    Some(Path::new(&path).canonicalize().ok()?.parent()?.to_owned())
}

/// Bytes that libtorch's caching allocator holds on a CUDA device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CudaMemory {
    /// In live tensors now.
    pub allocated_bytes: i64,
    /// Most that live tensors ever took.
    pub peak_allocated_bytes: i64,
    /// Taken from the device now.
    pub reserved_bytes: i64,
    /// Most ever taken from the device.
    pub peak_reserved_bytes: i64,
}

/// Memory statistics of CUDA device `device`.
///
/// # Errors
///
/// [`TorchError`] if there is no such device.
pub fn cuda_memory(device: usize) -> Result<CudaMemory, TorchError> {
    let device =
        c_int::try_from(device).map_err(|_| TorchError::new(format!("no CUDA device {device}")))?;
    let mut out = [0; 4];
    // SAFETY: `out` has room for the four numbers that are written.
    if unsafe { torch_ext_cuda_memory(device, out.as_mut_ptr()) } != 0 {
        return Err(TorchError::take());
    }
    let [allocated_bytes, peak_allocated_bytes, reserved_bytes, peak_reserved_bytes] = out;
    Ok(CudaMemory { allocated_bytes, peak_allocated_bytes, reserved_bytes, peak_reserved_bytes })
}

/// Memory of CUDA device `device` that nobody uses, and all that it has, in bytes.
///
/// # Errors
///
/// [`TorchError`] if there is no such device.
pub fn cuda_memory_room(device: usize) -> Result<(u64, u64), TorchError> {
    let device =
        c_int::try_from(device).map_err(|_| TorchError::new(format!("no CUDA device {device}")))?;
    let mut out = [0; 2];
    // SAFETY: `out` has room for the two numbers that are written.
    if unsafe { torch_ext_cuda_memory_room(device, out.as_mut_ptr()) } != 0 {
        return Err(TorchError::take());
    }
    let [free, total] = out;
    Ok((free, total))
}
