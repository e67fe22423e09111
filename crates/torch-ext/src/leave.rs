//! The end of a process that has libtorch.

use std::io::{self, Write};

/// Ends the process at once with this exit code. Nothing that is registered to run at exit does, and no destructor.
///
/// libtorch would take back its operators one by one: a quarter of the time that a command takes which computes nothing. Standard
/// output is flushed; everything else must be finished before the call.
pub fn leave(code: u8) -> ! {
    let _ = io::stdout().flush();
    // SAFETY: takes an integer and does not return. The system takes back what destructors would have freed.
    unsafe { libc::_exit(i32::from(code)) }
}
