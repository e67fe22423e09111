//! The end of programs that this process has started, each the leader of a process group.

use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// Waits until a program has ended, at most so long; then kills it. Returns true if it ended by itself.
pub(crate) fn end_within(child: &mut Child, wait: Duration) -> bool {
    let deadline = Instant::now() + wait;
    loop {
        if !matches!(child.try_wait(), Ok(None)) {
            return true;
        }
        if Instant::now() >= deadline {
            break;
        }
        sleep(Duration::from_millis(10));
    }
    kill_all(child);
    let _ = child.wait();
    false
}

/// Kills a program with all that it has started: one of them may hold its input open.
pub(crate) fn kill_all(child: &Child) {
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}
