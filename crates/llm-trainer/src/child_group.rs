//! The end of programs that this process has started, each the leader of a process group.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Waits until a program has ended, at most so long; then kills it. Returns true if it ended by itself.
pub(crate) fn end_within(child: &mut Child, wait: Duration) -> bool {
    let deadline = Instant::now() + wait;
    while matches!(child.try_wait(), Ok(None)) {
        if Instant::now() >= deadline {
            kill_all(child);
            let _ = child.wait();
            return false;
        }
        sleep(Duration::from_millis(10));
    }
    true
}

/// Kills a program with all that it has started: one of them may hold its input open.
pub(crate) fn kill_all(child: &Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}
