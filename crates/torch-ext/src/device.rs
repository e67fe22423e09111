//! Describes the libtorch in use and its CUDA devices.

use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::{TorchError, owned_string};

unsafe extern "C" {
    fn torch_ext_load_cuda() -> c_int;
    fn torch_ext_repeat_bits() -> c_int;
    fn torch_ext_built_against() -> *const c_char;
    fn torch_ext_show_config() -> *mut c_char;
    fn torch_ext_cuda_peak_reserved_bytes(device: c_int, bytes: *mut i64) -> c_int;
    fn torch_ext_cuda_memory_info(device: c_int, out: *mut u64) -> c_int;
    fn torch_ext_library_path() -> *mut c_char;
}

/// Loads libtorch's CUDA half if it and its libraries are present; later calls repeat the first result.
///
/// Must run before any other call asks about CUDA: libtorch keeps the first answer.
///
/// # Errors
///
/// [`TorchError`] with the loader's reason; the process can go on with the CPU.
pub fn load_cuda() -> Result<(), TorchError> {
    static LOADED: OnceLock<Result<(), TorchError>> = OnceLock::new();
    LOADED
        .get_or_init(|| {
            // SAFETY: takes no argument; loading runs the library's own initialisers only.
            if unsafe { torch_ext_load_cuda() } == 1 { Ok(()) } else { Err(TorchError::take()) }
        })
        .clone()
}

/// Has libtorch's operators add in one order from here on, so that what a CUDA device computes repeats to the bit; an operator
/// that cannot fails. Must run before the first product on a device.
///
/// # Errors
///
/// [`TorchError`] if libtorch refuses.
pub fn repeat_bits() -> Result<(), TorchError> {
    // SAFETY: takes no argument; sets libtorch's flags and a variable of the environment, as the run begins: no other thread reads it then.
    TorchError::check(unsafe { torch_ext_repeat_bits() })
}

/// Description of the libtorch in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Libtorch {
    /// Version of the headers this binary was compiled with.
    pub built_against: String,
    /// libtorch's description of the loaded library: compiler, BLAS, instruction set.
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

/// The folder from which libtorch was loaded, if the loader knows it.
pub(crate) fn library_folder() -> Option<PathBuf> {
    // SAFETY: the answer is null or a string from `strdup` that nothing else owns.
    let path = unsafe { owned_string(torch_ext_library_path()) }?;
    Some(Path::new(&path).canonicalize().ok()?.parent()?.to_owned())
}

fn index(device: usize) -> Result<c_int, TorchError> {
    c_int::try_from(device).map_err(|_| TorchError::new(format!("no CUDA device {device}")))
}

/// Most bytes that libtorch's caching allocator ever reserved on CUDA device `device`.
///
/// # Errors
///
/// [`TorchError`] if there is no such device.
pub fn cuda_peak_reserved_bytes(device: usize) -> Result<i64, TorchError> {
    let device = index(device)?;
    let mut bytes = 0;
    // SAFETY: `bytes` has room for the number that is written.
    TorchError::check(unsafe { torch_ext_cuda_peak_reserved_bytes(device, &raw mut bytes) })?;
    Ok(bytes)
}

/// Free and total memory of CUDA device `device`, in bytes.
///
/// # Errors
///
/// [`TorchError`] if there is no such device.
pub fn cuda_memory_info(device: usize) -> Result<(u64, u64), TorchError> {
    let device = index(device)?;
    let mut out = [0; 2];
    // SAFETY: `out` has room for the two numbers that are written.
    TorchError::check(unsafe { torch_ext_cuda_memory_info(device, out.as_mut_ptr()) })?;
    Ok(out.into())
}
