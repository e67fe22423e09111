//! Runs compiled kernels on libtorch's current stream through CUDA's driver.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::PathBuf;
use std::sync::OnceLock;

use super::error::KernelError;
use super::library::{Library, functions};
use super::nvrtc;
use super::source::{Launch, NAMES, SOURCE};
use crate::TorchError;

const LIBRARY: &str = "libcuda.so.1";
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR` and `_MINOR`.
const CAPABILITY: [c_int; 2] = [75, 76];

unsafe extern "C" {
    fn torch_ext_current_stream(device: c_int, stream: *mut *mut c_void) -> c_int;
}

functions! {
    /// Functions of the driver's interface; each returns a `CUresult`.
    Driver {
        init: c"cuInit" (c_uint),
        error_text: c"cuGetErrorString" (c_int, *mut *const c_char),
        device: c"cuDeviceGet" (*mut c_int, c_int),
        attribute: c"cuDeviceGetAttribute" (*mut c_int, c_int, c_int),
        retain_context: c"cuDevicePrimaryCtxRetain" (*mut *mut c_void, c_int),
        push_context: c"cuCtxPushCurrent_v2" (*mut c_void),
        pop_context: c"cuCtxPopCurrent_v2" (*mut *mut c_void),
        load: c"cuModuleLoadData" (*mut *mut c_void, *const c_void),
        function: c"cuModuleGetFunction" (*mut *mut c_void, *mut c_void, *const c_char),
        launch: c"cuLaunchKernel" (
            *mut c_void, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, *mut c_void, *mut *mut c_void, *mut *mut c_void
        ),
    }
}

functions! {
    /// The version function, which every driver has.
    About {
        version: c"cuDriverGetVersion" (*mut c_int),
    }
}

/// CUDA's driver on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CudaDriver {
    /// Newest CUDA version that it runs, as (13, 0).
    pub cuda_version: (c_int, c_int),
    /// The driver's error if it does not start; `None` if it does.
    pub refusal: Option<String>,
}

/// Reads the driver's CUDA version and starts the driver.
///
/// # Errors
///
/// [`KernelError`] if there is no driver, or it does not report its version.
pub fn cuda_driver() -> Result<CudaDriver, KernelError> {
    // SAFETY: the driver's library, which libtorch's CUDA half loads as well.
    let library = unsafe { Library::open(LIBRARY, &[PathBuf::from(LIBRARY)])? };
    // SAFETY: the type is that of cuda.h.
    let about = unsafe { About::of(&library)? };
    let mut version = 0;
    // SAFETY: there is room for the number; the driver need not be started.
    let status = unsafe { (about.version)(&raw mut version) };
    if status != 0 {
        return Err(KernelError::of_call("cuDriverGetVersion", format!("answers {status}")));
    }
    let refusal = Driver::get().err().map(|error| error.to_string());
    Ok(CudaDriver { cuda_version: (version / 1000, version % 1000 / 10), refusal })
}

impl Driver {
    fn get() -> Result<&'static Self, KernelError> {
        static DRIVER: OnceLock<Result<Driver, KernelError>> = OnceLock::new();
        DRIVER.get_or_init(Self::open).as_ref().map_err(Clone::clone)
    }

    fn open() -> Result<Self, KernelError> {
        // SAFETY: the driver's library, which libtorch's CUDA half loads as well.
        let library = unsafe { Library::open(LIBRARY, &[PathBuf::from(LIBRARY)])? };
        // SAFETY: the types are those of cuda.h.
        let driver = unsafe { Self::of(&library)? };
        // SAFETY: the flags must be 0; asked again, the driver does nothing.
        driver.check("cuInit", unsafe { (driver.init)(0) })?;
        Ok(driver)
    }

    /// Converts the `status` of `call` to a result.
    fn check(&self, call: &str, status: c_int) -> Result<(), KernelError> {
        if status == 0 {
            return Ok(());
        }
        let mut text = std::ptr::null();
        // SAFETY: there is room for the address of a string of the driver's own.
        let told = unsafe { (self.error_text)(status, &raw mut text) };
        let words = if told == 0 && !text.is_null() {
            // SAFETY: a NUL-terminated string that the driver keeps.
            unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
        } else {
            "an error without a description".to_owned()
        };
        Err(KernelError::of_call(call, format!("{words} ({status})")))
    }

    /// Runs `work` with `context` as this thread's CUDA context, then restores the previous one.
    fn within<T>(
        &self,
        context: *mut c_void,
        work: impl FnOnce() -> Result<T, KernelError>,
    ) -> Result<T, KernelError> {
        // SAFETY: a context that was retained and is never released.
        self.check("cuCtxPushCurrent", unsafe { (self.push_context)(context) })?;
        let outcome = work();
        let mut popped = std::ptr::null_mut();
        // SAFETY: there is room for the context, which was pushed above.
        self.check("cuCtxPopCurrent", unsafe { (self.pop_context)(&raw mut popped) })?;
        outcome
    }
}

/// The kernels on one device, loaded until the process ends.
#[derive(Debug)]
pub(super) struct Module {
    driver: &'static Driver,
    index: c_int,
    context: *mut c_void,
    /// Function handles, in the order of [`NAMES`].
    functions: [*mut c_void; NAMES.len()],
}

// SAFETY: handles of the driver, which may be used from any thread, are never given back, and are not changed here.
unsafe impl Send for Module {}
// SAFETY: as for `Send`.
unsafe impl Sync for Module {}

impl Module {
    /// Compiles and loads the kernels for CUDA device `index`.
    pub(super) fn load(index: usize) -> Result<Self, KernelError> {
        let driver = Driver::get()?;
        let device = c_int::try_from(index).map_err(|_| {
            KernelError::of_call("cuDeviceGet", format!("{index} is no number of a device"))
        })?;
        let (mut handle, mut capability) = (0, [0; 2]);
        // SAFETY: there is room for the handle.
        driver.check("cuDeviceGet", unsafe { (driver.device)(&raw mut handle, device) })?;
        for (value, attribute) in capability.iter_mut().zip(CAPABILITY) {
            // SAFETY: there is room for the number, and the handle is the driver's.
            let status = unsafe { (driver.attribute)(value, attribute, handle) };
            driver.check("cuDeviceGetAttribute", status)?;
        }
        let code = nvrtc::compile(SOURCE, capability.into())?;
        let mut context = std::ptr::null_mut();
        // SAFETY: there is room for the context, the device's primary one, which libtorch works in.
        let status = unsafe { (driver.retain_context)(&raw mut context, handle) };
        driver.check("cuDevicePrimaryCtxRetain", status)?;
        let functions = driver.within(context, || {
            let mut module = std::ptr::null_mut();
            // SAFETY: the code is a whole image from NVRTC, and is copied.
            let status = unsafe { (driver.load)(&raw mut module, code.as_ptr().cast()) };
            driver.check("cuModuleLoadData", status)?;
            let mut functions = [std::ptr::null_mut(); NAMES.len()];
            for (function, name) in functions.iter_mut().zip(NAMES) {
                // SAFETY: the module was loaded, and the name ends in a NUL.
                let status = unsafe { (driver.function)(function, module, name.as_ptr()) };
                driver.check("cuModuleGetFunction", status)?;
            }
            Ok(functions)
        })?;
        Ok(Self { driver, index: device, context, functions })
    }

    /// Queues a kernel on libtorch's current stream of the device.
    ///
    /// # Safety
    ///
    /// The arguments have the kernel's number and types. Addresses are memory of the device that holds what the kernel reads
    /// and writes until the stream has run it.
    pub(super) unsafe fn launch(&self, launch: &Launch<'_>) -> Result<(), KernelError> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: there is room for the stream.
        TorchError::check(unsafe { torch_ext_current_stream(self.index, &raw mut stream) })?;
        let Launch { kernel, blocks: [columns, rows], threads, arguments } = *launch;
        let mut places: Vec<*mut c_void> =
            arguments.iter().map(|bits| std::ptr::from_ref(bits).cast_mut().cast()).collect();
        let function = self.functions[kernel as usize];
        self.driver.within(self.context, || {
            // SAFETY: a function of a module of this context; each argument lies where its place says, is of eight bytes, and is copied
            // before the call returns; the rest is the caller's.
            let status = unsafe {
                (self.driver.launch)(
                    function,
                    columns,
                    rows,
                    1,
                    threads,
                    1,
                    1,
                    0,
                    stream,
                    places.as_mut_ptr(),
                    std::ptr::null_mut(),
                )
            };
            self.driver.check("cuLaunchKernel", status)
        })
    }
}
