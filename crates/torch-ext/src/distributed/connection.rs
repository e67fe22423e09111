//! The connections of a group: `Group` of `collectives.cpp`.

use std::ffi::{CStr, CString, c_char, c_int};
use std::net::IpAddr;
use std::ptr::NonNull;
use std::time::Duration;

use tch::Tensor;
use torch_sys::C_tensor;

use super::store::{RawStore, Store};
use super::values::milliseconds;
use crate::c_count;

#[repr(C)]
struct RawWork {
    _opaque: [u8; 0],
}

#[repr(C)]
struct RawGroup {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn torch_ext_group_new(
        store: *const RawStore,
        rank: c_int,
        size: c_int,
        timeout_ms: i64,
        cuda_device: c_int,
        name: *const c_char,
        address: *const c_char,
    ) -> *mut RawGroup;
    fn torch_ext_group_free(group: *mut RawGroup);
    fn torch_ext_group_close(group: *mut RawGroup);
    fn torch_ext_group_start(
        group: *const RawGroup,
        operation: c_int,
        output: *const C_tensor,
        input: *const C_tensor,
        argument: c_int,
    ) -> *mut RawWork;
    fn torch_ext_work_wait(work: *mut RawWork) -> c_int;
    fn torch_ext_work_free(work: *mut RawWork);
}

/// The exchange of parts in `collectives.cpp`, whose other operations have the numbers of [`GroupOperation`](super::GroupOperation).
pub(super) const ALL_TO_ALL: c_int = 3;

#[derive(Debug)]
pub(super) struct Connection(NonNull<RawGroup>);

// SAFETY: the C++ object holds counted pointers with atomic counts to back-ends that are bound to no thread.
unsafe impl Send for Connection {}
// SAFETY: `start` is called by `ProcessGroup` alone, which is not `Sync`, so by one thread at a time; `close` takes a lock.
unsafe impl Sync for Connection {}

impl Connection {
    /// Connects the ranks; `None` if libtorch could not, with its error waiting to be taken. Gloo listens at `address`, if one
    /// is given.
    pub(super) fn new(
        store: &Store,
        (rank, size): (usize, usize),
        timeout: Duration,
        cuda_device: c_int,
        name: &str,
        address: Option<IpAddr>,
    ) -> Option<Self> {
        let name = CString::new(name).expect("digits and punctuation");
        let address = address
            .map(|address| CString::new(address.to_string()).expect("digits and punctuation"));
        // SAFETY: the store is live and the back-ends count their own references to it; name and address are NUL-terminated (or null) and
        // copied. The constructor that is called by its symbol was checked by `nccl::require`.
        let raw = unsafe {
            torch_ext_group_new(
                store.as_raw(),
                c_count(rank),
                c_count(size),
                milliseconds(timeout),
                cuda_device,
                name.as_ptr(),
                address.as_deref().map_or(std::ptr::null(), CStr::as_ptr),
            )
        };
        NonNull::new(raw).map(Self)
    }

    /// Starts an operation; `None` if it could not be started, with libtorch's error waiting to be taken.
    pub(super) fn start(
        &self,
        code: c_int,
        output: &Tensor,
        input: Option<&Tensor>,
        argument: c_int,
    ) -> Option<Operation> {
        // SAFETY: the group is live, the output is live, the input null or live, and the work counts its own references to their
        // memory, so it outlives what goes on in the background.
        let raw = unsafe {
            torch_ext_group_start(
                self.0.as_ptr(),
                code,
                output.as_ptr(),
                input.map_or(std::ptr::null(), Tensor::as_ptr),
                argument,
            )
        };
        NonNull::new(raw).map(Operation)
    }

    /// Closes the connections: every operation in progress with this rank fails on the other ranks, and so does every later one
    /// here. Queued operations run first.
    pub(super) fn close(&self) {
        // SAFETY: the group is live, and the C++ side takes its lock.
        unsafe { torch_ext_group_close(self.0.as_ptr()) };
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // SAFETY: from `new`, freed once; works that are under way hold references of their own.
        unsafe { torch_ext_group_free(self.0.as_ptr()) };
    }
}

/// An operation in progress: `Work` of `collectives.cpp`.
#[derive(Debug)]
pub(super) struct Operation(NonNull<RawWork>);

// SAFETY: the C++ object holds counted pointers with atomic counts, and c10d lets any thread wait for a work.
unsafe impl Send for Operation {}

impl Operation {
    /// Waits for the end; returns false if it failed, with libtorch's error waiting to be taken.
    pub(super) fn wait(&self) -> bool {
        // SAFETY: the work is live.
        unsafe { torch_ext_work_wait(self.0.as_ptr()) == 0 }
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        // SAFETY: from `start`, freed once. What is under way holds references of its own to its tensors and connections.
        unsafe { torch_ext_work_free(self.0.as_ptr()) };
    }
}
