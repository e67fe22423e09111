//! Runs the kernels on the CPU for tests without a GPU, compiled by the host's C++ compiler.

use std::ffi::{CStr, OsStr, c_char, c_uint, c_void};
use std::fmt::Display;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use super::error::KernelError;
use super::library::Library;
use super::source::{Launch, SOURCE, file};

/// Name, blocks in x and y, threads per block, arguments and their number; returns null, or why the kernel did not finish.
type Run = unsafe extern "C" fn(
    *const c_char,
    c_uint,
    c_uint,
    c_uint,
    *const *mut c_void,
    c_uint,
) -> *const c_char;

#[derive(Debug, Clone, Copy)]
pub(super) struct Emulation {
    run: Run,
}

impl Emulation {
    /// Compiles the kernels by `$CXX`, or `c++`.
    pub(super) fn compile() -> Result<Self, KernelError> {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos();
        let folder = std::env::temp_dir().join(format!("kernels-{}-{time}", std::process::id()));
        DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        let library = compile(&folder).and_then(|library| {
            // SAFETY: the library was compiled just now from sources of this crate, in a folder that no other user can write to; its only
            // initialisers are those of empty containers.
            unsafe { Library::open("the emulated kernels", &[library]) }
        });
        // Files that cannot be removed are left to the system's cleanup.
        let _ = std::fs::remove_dir_all(&folder);
        let address = library?.function(c"emulation_launch")?;
        // SAFETY: the function's type is that in emulation.cpp.
        let run = unsafe { std::mem::transmute::<*mut c_void, Run>(address) };
        Ok(Self { run })
    }

    /// Runs a kernel to its end.
    ///
    /// # Safety
    ///
    /// The arguments are those of the kernel; addresses are memory that holds what it reads and writes.
    pub(super) unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), KernelError> {
        let Launch { kernel, blocks: [columns, rows], threads, arguments } = *launch;
        let places: Vec<*mut c_void> =
            arguments.iter().map(|bits| std::ptr::from_ref(bits).cast_mut().cast()).collect();
        let count = c_uint::try_from(places.len()).expect("a kernel has a dozen arguments");
        // SAFETY: the name ends in a NUL, there are so many places of eight bytes each; the rest is the caller's.
        let problem = unsafe {
            (self.run)(kernel.name().as_ptr(), columns, rows, threads, places.as_ptr(), count)
        };
        if problem.is_null() {
            return Ok(());
        }
        // SAFETY: not null, and a string literal of emulation.cpp.
        let problem = unsafe { CStr::from_ptr(problem) }.to_string_lossy().into_owned();
        Err(KernelError::of_call(&kernel.name().to_string_lossy(), problem))
    }
}

fn compiler() -> std::ffi::OsString {
    std::env::var_os("CXX").unwrap_or_else(|| "c++".into())
}

fn failed(problem: impl Display) -> KernelError {
    KernelError::of_compiler(&compiler().to_string_lossy(), problem)
}

/// Builds a library in `folder` and returns its path.
fn compile(folder: &Path) -> Result<PathBuf, KernelError> {
    let (source, library) = (folder.join("kernels.cpp"), folder.join("kernels.so"));
    let text = [file!("emulation.h"), SOURCE, file!("emulation.cpp")].concat();
    std::fs::write(&source, text).map_err(failed)?;
    let output = Command::new(compiler())
        .args(["-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden"])
        // Products and sums are rounded separately, as on the device; jumps to another stack are intended.
        .args(["-ffp-contract=off", "-U_FORTIFY_SOURCE"])
        .args([OsStr::new("-o"), library.as_os_str(), source.as_os_str()])
        .output()
        .map_err(failed)?;
    if output.status.success() {
        Ok(library)
    } else {
        Err(failed(String::from_utf8_lossy(&output.stderr).trim()))
    }
}
