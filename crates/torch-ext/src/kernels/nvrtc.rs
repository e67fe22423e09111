//! Compiles kernels at run time through NVRTC.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::error::KernelError;
use super::library::{Library, functions};
use crate::cuda_libraries::library_folders;
use crate::device::library_folder;

/// NVRTC's file names for the versions of CUDA that libtorch comes with.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"];

functions! {
    /// Functions of NVRTC's interface, equal in versions 12 and 13; each returns an `nvrtcResult`.
    Nvrtc {
        create: c"nvrtcCreateProgram" (*mut *mut c_void, *const c_char, *const c_char, c_int, *const *const c_char, *const *const c_char),
        compile: c"nvrtcCompileProgram" (*mut c_void, c_int, *const *const c_char),
        log_size: c"nvrtcGetProgramLogSize" (*mut c_void, *mut usize),
        log: c"nvrtcGetProgramLog" (*mut c_void, *mut c_char),
        code_size: c"nvrtcGetCUBINSize" (*mut c_void, *mut usize),
        code: c"nvrtcGetCUBIN" (*mut c_void, *mut c_char),
        destroy: c"nvrtcDestroyProgram" (*mut *mut c_void),
    }
}

struct Program<'a> {
    nvrtc: &'a Nvrtc,
    handle: *mut c_void,
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: made by `create`, destroyed once.
        unsafe { (self.nvrtc.destroy)(&raw mut self.handle) };
    }
}

/// Compiles `source` to machine code for devices of a compute capability; needs no device.
///
/// # Errors
///
/// If there is no NVRTC, or it does not compile the source; the error has its log.
pub(super) fn compile(
    source: &str,
    (major, minor): (c_int, c_int),
) -> Result<Vec<u8>, KernelError> {
    static NVRTC: OnceLock<Result<Nvrtc, KernelError>> = OnceLock::new();
    let nvrtc = NVRTC.get_or_init(|| open(library_folder().as_deref()));
    compile_by(nvrtc.as_ref().map_err(Clone::clone)?, source, (major, minor))
}

fn compile_by(
    nvrtc: &Nvrtc,
    source: &str,
    (major, minor): (c_int, c_int),
) -> Result<Vec<u8>, KernelError> {
    // Products and sums are rounded separately, as by libtorch's operators and the host.
    let options = [format!("--gpu-architecture=sm_{major}{minor}"), "--fmad=false".to_owned()];
    let failed = |problem: String| {
        KernelError::of_compiler(&format!("NVRTC for sm_{major}{minor}"), problem)
    };
    let c_string = |text: &str| CString::new(text).map_err(|error| failed(error.to_string()));
    let (text, name) = (c_string(source)?, c_string("kernels.cu")?);
    let options = [c_string(&options[0])?, c_string(&options[1])?];
    let options = options.each_ref().map(|option| option.as_ptr());

    let mut handle = std::ptr::null_mut();
    let (none, no_names) = (std::ptr::null(), std::ptr::null());
    // SAFETY: the strings end in NULs, and there are no headers.
    let status =
        unsafe { (nvrtc.create)(&raw mut handle, text.as_ptr(), name.as_ptr(), 0, none, no_names) };
    if status != 0 {
        return Err(failed(format!("nvrtcCreateProgram answers {status}")));
    }
    let program = Program { nvrtc, handle };
    // SAFETY: the program lives, and there are two options that end in NULs.
    let status = unsafe { (nvrtc.compile)(program.handle, 2, options.as_ptr()) };
    if status != 0 {
        let log = program.bytes("log", nvrtc.log_size, nvrtc.log).unwrap_or_default();
        let log = CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy();
        return Err(failed(format!("nvrtcCompileProgram answers {status}: {}", log.trim())));
    }
    program.bytes("machine code", nvrtc.code_size, nvrtc.code).map_err(failed)
}

impl Program<'_> {
    /// Reads bytes through a pair of functions: one returns the size, the other fills the bytes.
    fn bytes(
        &self,
        what: &str,
        size: unsafe extern "C" fn(*mut c_void, *mut usize) -> c_int,
        fill: unsafe extern "C" fn(*mut c_void, *mut c_char) -> c_int,
    ) -> Result<Vec<u8>, String> {
        let mut count = 0;
        // SAFETY: the program lives, and there is room for the size.
        let told = unsafe { size(self.handle, &raw mut count) };
        let mut bytes = vec![0_u8; count];
        // SAFETY: the program lives, and there is room for as many bytes as were told.
        if told == 0 && unsafe { fill(self.handle, bytes.as_mut_ptr().cast()) } == 0 {
            Ok(bytes)
        } else {
            Err(format!("there is no {what}"))
        }
    }
}

fn open(libtorch: Option<&Path>) -> Result<Nvrtc, KernelError> {
    let paths = paths(libtorch);
    for path in &paths {
        // NVRTC opens its second half by name alone, which the loader finds in this folder only if it is already loaded.
        for builtins in builtins_beside(path) {
            // SAFETY: a part of NVRTC, which would load it.
            let _kept_loaded = unsafe { Library::open("NVRTC's builtins", &[builtins]) };
        }
    }
    // SAFETY: NVRTC is a library like libtorch's others, whose initialisers are run as theirs are.
    let library = unsafe { Library::open("libnvrtc.so.13 or .12", &paths)? };
    // SAFETY: the types are those of nvrtc.h.
    unsafe { Nvrtc::of(&library) }
}

/// Possible paths of NVRTC: beside libtorch, in NVIDIA's wheels beside torch's, and names for the loader to find.
fn paths(libtorch: Option<&Path>) -> Vec<PathBuf> {
    let folders = library_folders(libtorch);
    let in_folders =
        NAMES.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name)));
    in_folders.filter(|path| path.exists()).chain(NAMES.iter().map(PathBuf::from)).collect()
}

/// Files `libnvrtc-builtins.so*` in the folder of an NVRTC; none if the path has no folder.
fn builtins_beside(nvrtc: &Path) -> Vec<PathBuf> {
    let folder = nvrtc.parent().filter(|folder| folder.is_absolute());
    let entries = folder.and_then(|folder| std::fs::read_dir(folder).ok()).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let is_builtins = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libnvrtc-builtins.so")
    };
    paths.filter(is_builtins).collect()
}

#[cfg(test)]
mod tests {
    use workspace_tests::files::folder;

    use super::*;
    use crate::kernels::source::SOURCE;

    /// Compute capabilities of Ampere, Hopper and Blackwell.
    const CAPABILITIES: [(c_int, c_int); 3] = [(8, 0), (9, 0), (10, 0)];

    #[test]
    #[expect(clippy::print_stdout, reason = "says what was not tested")]
    fn nvrtc_compiles_the_kernels() {
        for capability in CAPABILITIES {
            match compile(SOURCE, capability) {
                Ok(code) => assert_eq!(&code[..4], b"\x7fELF"),
                Err(error) if error.0.contains("cannot be used") => {
                    return println!("not tested: {error}");
                }
                Err(error) => panic!("{error}"),
            }
        }
        let wrong = SOURCE.replacen("gated[", "gatde[", 1);
        let error = compile(&wrong, CAPABILITIES[0]).unwrap_err().to_string();
        assert!(error.contains("gatde") && error.contains("gate.cu"), "{error}");
        let unknown = compile(SOURCE, (1, 2)).unwrap_err().to_string();
        assert!(unknown.contains("sm_12"), "{unknown}");
    }

    /// A fake NVRTC for the loading only: it compiles once the loader finds its second half by name.
    const FAKE: &str = r#"
#include <dlfcn.h>
#include <stddef.h>
int nvrtcCreateProgram(void **p, const char *s, const char *n, int c, const char *const *h, const char *const *i) { *p = (void *)1; return 0; }
int nvrtcCompileProgram(void *p, int c, const char *const *o) { return dlopen("libnvrtc-builtins.so.0.test", RTLD_NOW) ? 0 : 7; }
int nvrtcGetProgramLogSize(void *p, size_t *s) { *s = 1; return 0; }
int nvrtcGetProgramLog(void *p, char *l) { *l = 0; return 0; }
int nvrtcGetCUBINSize(void *p, size_t *s) { *s = 3; return 0; }
int nvrtcGetCUBIN(void *p, char *c) { c[0] = 'b'; c[1] = 'i'; c[2] = 'n'; return 0; }
int nvrtcDestroyProgram(void **p) { return 0; }
"#;

    /// Like NVIDIA's wheel: two libraries in a folder that the loader does not search.
    #[test]
    fn the_half_that_nvrtc_asks_for_by_name_is_found_beside_it() {
        let packages = folder(&[("torch/lib/none", ""), ("nvidia/cu13/lib/none", "")]);
        let [torch, wheel] =
            ["torch/lib", "nvidia/cu13/lib"].map(|name| packages.path().join(name));
        let build = |source: &str, name: &str| {
            let path = wheel.join(name).with_extension("c");
            std::fs::write(&path, source).unwrap();
            let named = format!("-Wl,-soname,{name}");
            let mut compiler = std::process::Command::new("cc");
            compiler.args(["-shared", "-fPIC", "-w", "-o"]).arg(wheel.join(name)).arg(&path);
            assert!(compiler.arg(named).arg("-ldl").status().unwrap().success());
        };
        build(FAKE, "libnvrtc.so.13");
        let alone = compile_by(&open(Some(&torch)).unwrap(), "", (9, 0)).unwrap_err().to_string();
        build("int builtins;", "libnvrtc-builtins.so.0.test");
        let complete = compile_by(&open(Some(&torch)).unwrap(), "", (9, 0));
        assert!(alone.contains("nvrtcCompileProgram answers 7"), "{alone}");
        assert_eq!(complete.unwrap(), b"bin");
    }

    #[test]
    fn nvrtc_is_looked_for_beside_libtorch_and_in_the_wheels() {
        let packages = folder(&[("torch/lib/none", ""), ("nvidia/cu13/lib/libnvrtc.so.13", "")]);
        let candidates = paths(Some(&packages.path().join("torch/lib")));
        assert_eq!(candidates[0], packages.path().join("nvidia/cu13/lib/libnvrtc.so.13"));
        assert_eq!(candidates[1..], NAMES.map(PathBuf::from));
        assert_eq!(paths(None), NAMES.map(PathBuf::from));
    }

    #[test]
    fn a_library_that_is_missing_is_named() {
        // SAFETY: there is no such library whose initialisers could run.
        let missing = unsafe { Library::open("libnone.so", &[PathBuf::from("libnone.so.99")]) };
        let error = missing.unwrap_err().to_string();
        assert!(error.starts_with("libnone.so cannot be used: libnone.so.99: "), "{error}");
        // SAFETY: the C library is loaded already.
        let library = unsafe { Library::open("C", &[PathBuf::from("libc.so.6")]) }.unwrap();
        let error = library.function(c"nvrtcCreateProgram").unwrap_err().to_string();
        assert_eq!(error, "C cannot be used: it has no nvrtcCreateProgram");
    }
}
