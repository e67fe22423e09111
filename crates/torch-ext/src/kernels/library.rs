//! Optional shared libraries, opened at run time.

use std::ffi::{CStr, CString, c_void};
use std::path::PathBuf;

use super::error::KernelError;

/// A shared library, loaded until the process ends.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Library {
    handle: *mut c_void,
    name: &'static str,
}

// SAFETY: a handle names a library that is never unloaded; the loader guards its own state with a lock.
unsafe impl Send for Library {}
// SAFETY: as for `Send`.
unsafe impl Sync for Library {}

impl Library {
    /// Opens the first of `paths` that the loader accepts; `name` is for errors. A path with a folder is opened as it is,
    /// others where the loader looks.
    ///
    /// # Safety
    ///
    /// The initialisers of the libraries are sound to run.
    pub(crate) unsafe fn open(name: &'static str, paths: &[PathBuf]) -> Result<Self, KernelError> {
        let error = |problem: String| KernelError::of_library(name, &problem);
        let mut problem = None;
        for path in paths {
            let path = CString::new(path.as_os_str().as_encoded_bytes())
                .map_err(|_| error(format!("{} has a NUL", path.display())))?;
            // SAFETY: the path ends in a NUL; the initialisers are sound by the contract.
            let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
            if !handle.is_null() {
                return Ok(Self { handle, name });
            }
            // Report the first of several errors: the first path is the likeliest to have been meant.
            problem.get_or_insert_with(loader_error);
        }
        Err(error(problem.unwrap_or_else(|| "there is none".to_owned())))
    }

    pub(super) fn function(&self, symbol: &CStr) -> Result<*mut c_void, KernelError> {
        // SAFETY: the handle is of a library that stays, the symbol ends in a NUL.
        let address = unsafe { libc::dlsym(self.handle, symbol.as_ptr()) };
        if address.is_null() {
            let problem = format!("it has no {}", symbol.to_string_lossy());
            return Err(KernelError::of_library(self.name, &problem));
        }
        Ok(address)
    }
}

/// Declares a table of functions of a library: `functions! { Table { name: c"symbol" (arguments) } }`. Each function returns a
/// status. `Table::of` looks all of them up.
macro_rules! functions {
    ($(#[$about:meta])* $table:ident { $($name:ident: $symbol:literal ($($argument:ty),*)),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy)]
        struct $table {
            $($name: unsafe extern "C" fn($($argument),*) -> c_int,)+
        }

        impl $table {
            /// # Safety
            ///
            /// The library's functions have these arguments.
            unsafe fn of(library: &Library) -> Result<Self, KernelError> {
                $(
                    let address = library.function($symbol)?;
                    // SAFETY: not null, and by the contract a function of this type.
                    let $name = unsafe {
                        std::mem::transmute::<
                            *mut std::ffi::c_void,
                            unsafe extern "C" fn($($argument),*) -> c_int,
                        >(address)
                    };
                )+
                Ok(Self { $($name),+ })
            }
        }
    };
}
pub(super) use functions;

fn loader_error() -> String {
    // SAFETY: the answer is null or a string that stays until the loader is asked again on this thread.
    let text = unsafe { libc::dlerror() };
    if text.is_null() {
        return "the loader gives no reason".to_owned();
    }
    // SAFETY: not null, and NUL-terminated.
    unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
}
