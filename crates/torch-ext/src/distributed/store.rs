//! A small map that all processes of a run share.

use std::ffi::{CString, c_char, c_int};
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use super::error::GroupError;
use super::reach;
use super::values::{milliseconds, one_line};
use crate::TorchError;

/// Longest time that a process may take to connect to its own store.
const OWN: Duration = Duration::from_mins(1);

/// `torch_ext::StoreHandle`.
#[repr(C)]
pub(super) struct RawStore {
    _opaque: [u8; 0],
}

unsafe extern "C" {
    fn torch_ext_set_log_level(level: c_int);
    fn torch_ext_store_tcp(
        host: *const c_char,
        port: u16,
        is_server: c_int,
        connect_ms: i64,
        timeout_ms: i64,
    ) -> *mut RawStore;
    fn torch_ext_store_in_memory(timeout_ms: i64) -> *mut RawStore;
    fn torch_ext_store_prefixed(store: *const RawStore, prefix: *const c_char) -> *mut RawStore;
    fn torch_ext_store_clone(store: *const RawStore) -> *mut RawStore;
    fn torch_ext_store_free(store: *mut RawStore);
    fn torch_ext_store_port(store: *const RawStore) -> c_int;
    fn torch_ext_store_set(
        store: *const RawStore,
        key: *const c_char,
        value: *const u8,
        size: usize,
    ) -> c_int;
    fn torch_ext_store_get(store: *const RawStore, key: *const c_char, size: *mut usize)
    -> *mut u8;
    fn torch_ext_store_wait(store: *const RawStore, key: *const c_char, timeout_ms: i64) -> c_int;
    fn torch_ext_store_check(store: *const RawStore, key: *const c_char) -> c_int;
    fn torch_ext_store_add(
        store: *const RawStore,
        key: *const c_char,
        by: i64,
        sum: *mut i64,
    ) -> c_int;
}

/// Keys and bytes shared by all processes of a run: c10d's store, over TCP or within one process.
///
/// It is for small data such as membership and heartbeats. A waiting operation blocks the connection. A thread that sends
/// heartbeats while another waits needs its own connection, from [`Self::reconnect`].
#[derive(Debug)]
pub struct Store {
    handle: Arc<Handle>,
    /// Longest time that a new connection may take.
    connect_timeout: Duration,
}

#[derive(Debug)]
struct Handle(NonNull<RawStore>);

// SAFETY: the handle is a counted pointer whose count is atomic, and every operation of c10d's stores takes the lock of
// its connection (or of its map), so any thread may call, and several at once.
unsafe impl Send for Handle {}
// SAFETY: as above; no operation here changes the handle itself.
unsafe impl Sync for Handle {}

impl Store {
    /// Serves a store on all interfaces of this host; port 0 picks a free one, see [`Self::port`].
    ///
    /// The server ends when this store and everything made from it in this process is dropped.
    ///
    /// # Errors
    ///
    /// [`GroupError::PortTaken`], or [`GroupError::Store`] with another reason.
    pub fn serve(port: u16, timeout: Duration) -> Result<Self, GroupError> {
        Self::tcp("localhost", port, true, OWN, timeout).map_err(|error| match error {
            GroupError::Store { message, .. } if message.contains("EADDRINUSE") => {
                GroupError::PortTaken { port }
            }
            other => other,
        })
    }

    /// Connects to a store that another process serves; tries until `connect_timeout`. Answers may take as long as `timeout`.
    ///
    /// # Errors
    ///
    /// [`GroupError::Store`] if there is none by then.
    pub fn connect(
        host: &str,
        port: u16,
        connect_timeout: Duration,
        timeout: Duration,
    ) -> Result<Self, GroupError> {
        let name = host.to_owned();
        reach::within(connect_timeout, host, move || {
            let refused = |message| {
                let key = name.clone();
                GroupError::Store { action: "connect", key, message }
            };
            reach::listener(&name, port, connect_timeout).map_err(refused)?;
            Self::tcp(&name, port, false, connect_timeout, timeout)
        })
    }

    fn tcp(
        host: &str,
        port: u16,
        is_server: bool,
        connect_timeout: Duration,
        timeout: Duration,
    ) -> Result<Self, GroupError> {
        set_log_level(SILENT);
        let c_host = c_string("connect", host)?;
        // SAFETY: the host is NUL-terminated and outlives the call.
        let raw = unsafe {
            torch_ext_store_tcp(
                c_host.as_ptr(),
                port,
                c_int::from(is_server),
                milliseconds(connect_timeout),
                milliseconds(timeout),
            )
        };
        Self::adopt(raw, connect_timeout, host)
    }

    /// A store within this process, for a world of one.
    ///
    /// # Panics
    ///
    /// If there is no memory for it.
    pub fn in_memory(timeout: Duration) -> Self {
        // SAFETY: takes a number and makes a new handle.
        let raw = unsafe { torch_ext_store_in_memory(milliseconds(timeout)) };
        Self::adopt(raw, timeout, "memory").expect("an empty map has no other way to fail")
    }

    /// A view of this store with `prefix/` before every key.
    ///
    /// # Errors
    ///
    /// [`GroupError::Store`] if the prefix has a NUL.
    pub fn prefixed(&self, prefix: &str) -> Result<Self, GroupError> {
        let c_prefix = c_string("connect", prefix)?;
        // SAFETY: the handle is live, the prefix NUL-terminated.
        let raw = unsafe { torch_ext_store_prefixed(self.as_raw(), c_prefix.as_ptr()) };
        Self::adopt(raw, self.connect_timeout, prefix)
    }

    /// Opens another connection to this store.
    ///
    /// # Errors
    ///
    /// [`GroupError::Store`] if it cannot be reached any more.
    pub fn reconnect(&self) -> Result<Self, GroupError> {
        let (handle, connect_timeout) = (Arc::clone(&self.handle), self.connect_timeout);
        reach::within(connect_timeout, "", move || {
            // SAFETY: the handle is live.
            let raw = unsafe { torch_ext_store_clone(handle.0.as_ptr()) };
            Self::adopt(raw, connect_timeout, "")
        })
    }

    /// TCP port of a store that was served or connected to.
    pub fn port(&self) -> Option<u16> {
        // SAFETY: the handle is live.
        u16::try_from(unsafe { torch_ext_store_port(self.as_raw()) }).ok()
    }

    /// Sets `key` to `value`.
    ///
    /// # Errors
    ///
    /// [`GroupError::Store`] if the store cannot be reached.
    pub fn set(&self, key: &str, value: &[u8]) -> Result<(), GroupError> {
        let c_key = c_string("set", key)?;
        // SAFETY: the handle is live, the key NUL-terminated, and `value` is read within its length only.
        let status = unsafe {
            torch_ext_store_set(self.as_raw(), c_key.as_ptr(), value.as_ptr(), value.len())
        };
        succeeded(status, "set", key)
    }

    /// The value of `key`; waits for it at most the store's time-out.
    ///
    /// # Errors
    ///
    /// [`GroupError::Store`] if it does not come, or the store cannot be reached.
    pub fn get(&self, key: &str) -> Result<Vec<u8>, GroupError> {
        let c_key = c_string("get", key)?;
        let mut size = 0;
        // SAFETY: the handle is live, the key NUL-terminated, `size` is written on success.
        let raw = unsafe { torch_ext_store_get(self.as_raw(), c_key.as_ptr(), &raw mut size) };
        if raw.is_null() {
            return Err(failed("get", key));
        }
        // SAFETY: not null is success: `size` bytes from `malloc` that nothing else owns.
        let value = unsafe { std::slice::from_raw_parts(raw, size) }.to_vec();
        // SAFETY: from `malloc`, and not used after this.
        unsafe { libc::free(raw.cast()) };
        Ok(value)
    }

    /// The current value of `key`, if it is set.
    ///
    /// # Errors
    ///
    /// [`GroupError::Store`] if the store cannot be reached.
    pub fn get_if_set(&self, key: &str) -> Result<Option<Vec<u8>>, GroupError> {
        if self.is_set(key)? { self.get(key).map(Some) } else { Ok(None) }
    }

    /// Returns true if `key` is set now.
    ///
    /// # Errors
    ///
    /// [`GroupError::Store`] if the store cannot be reached.
    pub fn is_set(&self, key: &str) -> Result<bool, GroupError> {
        let c_key = c_string("check", key)?;
        // SAFETY: the handle is live, the key NUL-terminated.
        match unsafe { torch_ext_store_check(self.as_raw(), c_key.as_ptr()) } {
            0 => Ok(false),
            1 => Ok(true),
            _ => Err(failed("check", key)),
        }
    }

    /// Waits until `key` is set, at most `timeout`.
    ///
    /// # Errors
    ///
    /// [`GroupError::Store`] if it is not set in time, or the store cannot be reached.
    pub fn wait_for(&self, key: &str, timeout: Duration) -> Result<(), GroupError> {
        let c_key = c_string("wait for", key)?;
        // SAFETY: the handle is live, the key NUL-terminated.
        let status =
            unsafe { torch_ext_store_wait(self.as_raw(), c_key.as_ptr(), milliseconds(timeout)) };
        succeeded(status, "wait for", key)
    }

    /// Adds `by` to the count at `key`, which starts at 0, and returns the sum.
    ///
    /// # Errors
    ///
    /// [`GroupError::Store`] if the value is no count, or the store cannot be reached.
    pub fn add(&self, key: &str, by: i64) -> Result<i64, GroupError> {
        let c_key = c_string("add", key)?;
        let mut sum = 0;
        // SAFETY: the handle is live, the key NUL-terminated, `sum` has room for the number.
        let status =
            unsafe { torch_ext_store_add(self.as_raw(), c_key.as_ptr(), by, &raw mut sum) };
        succeeded(status, "add", key).map(|()| sum)
    }

    /// The handle for the back-ends, which keep their own reference.
    pub(super) fn as_raw(&self) -> *const RawStore {
        self.handle.0.as_ptr()
    }

    fn adopt(raw: *mut RawStore, connect_timeout: Duration, key: &str) -> Result<Self, GroupError> {
        let raw = NonNull::new(raw).ok_or_else(|| failed("connect", key))?;
        Ok(Self { handle: Arc::new(Handle(raw)), connect_timeout })
    }
}

/// Level of c10d's messages with NCCL: its watchdog writes there before it ends the process.
pub(super) const ERRORS: c_int = 2;

/// Level without NCCL: failures are returned as values and need no stack trace.
const SILENT: c_int = 3;

/// Sets the level of c10d's messages on standard error, unless `TORCH_CPP_LOG_LEVEL` sets it.
pub(super) fn set_log_level(level: c_int) {
    // SAFETY: sets a number in libtorch that is read where something is logged.
    unsafe { torch_ext_set_log_level(level) };
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: the handle came from `new` and is freed once.
        unsafe { torch_ext_store_free(self.0.as_ptr()) };
    }
}

fn c_string(action: &'static str, text: &str) -> Result<CString, GroupError> {
    CString::new(text).map_err(|_| GroupError::Store {
        action,
        key: text.to_owned(),
        message: "has a NUL".to_owned(),
    })
}

fn succeeded(status: c_int, action: &'static str, key: &str) -> Result<(), GroupError> {
    if status == 0 { Ok(()) } else { Err(failed(action, key)) }
}

fn failed(action: &'static str, key: &str) -> GroupError {
    GroupError::Store { action, key: key.to_owned(), message: one_line(&TorchError::take()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any wait in these tests.
    const LONG: Duration = Duration::from_mins(5);
    const SHORT: Duration = Duration::from_millis(300);

    #[test]
    fn what_one_connection_sets_another_gets() {
        let server = Store::serve(0, LONG).unwrap();
        let port = server.port().unwrap();
        let client = Store::connect("127.0.0.1", port, LONG, LONG).unwrap();
        for store in [&client, &client.reconnect().unwrap()] {
            store.set("bytes", &[0, 255, 7]).unwrap();
            assert_eq!(server.get("bytes").unwrap(), [0, 255, 7]);
            server.set("bytes", &[]).unwrap();
            assert_eq!(store.get_if_set("bytes").unwrap(), Some(vec![]));
        }
        let (left, right) = (server.prefixed("left").unwrap(), client.prefixed("right").unwrap());
        assert_eq!(left.add("count", 2).unwrap(), 2);
        assert_eq!(left.add("count", 3).unwrap(), 5);
        assert_eq!(right.add("count", -1).unwrap(), -1, "another prefix is another key");
        assert!(!right.is_set("no").unwrap() && right.get_if_set("no").unwrap().is_none());
    }

    #[test]
    fn a_key_that_does_not_come_is_an_error_after_the_time_out() {
        for store in [Store::in_memory(SHORT), Store::serve(0, SHORT).unwrap()] {
            store.wait_for("here", SHORT).unwrap_err();
            store.set("here", b"1").unwrap();
            store.wait_for("here", LONG).unwrap();
            let text = store.get("absent").unwrap_err().to_string();
            assert!(text.starts_with("store: get \"absent\": ") && !text.contains('\n'), "{text}");
            assert!(!text.contains("frame #"), "no C++ stack trace: {text}");
        }
    }

    #[test]
    fn a_port_that_is_taken_is_not_served_and_who_took_it_is_no_store() {
        let taken = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        assert_eq!(Store::serve(port, SHORT).unwrap_err(), GroupError::PortTaken { port });
        let text = Store::connect("127.0.0.1", port, SHORT, SHORT).unwrap_err().to_string();
        assert_eq!(text, "store: connect \"127.0.0.1\": no answer within 0.3 s");
        Store::connect("no\0host", port, SHORT, SHORT).unwrap_err();
    }

    #[test]
    fn a_store_that_is_gone_is_not_waited_for() {
        let server = Store::serve(0, LONG).unwrap();
        let port = server.port().unwrap();
        let client = Store::connect("127.0.0.1", port, LONG, Duration::from_hours(24)).unwrap();
        drop(server);
        let client = Store { connect_timeout: SHORT, ..client };
        let text = client.reconnect().unwrap_err().to_string();
        assert!(text.starts_with("store: connect \"\": "), "{text}");
    }
}
