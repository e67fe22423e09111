//! One process, from its start to the end of its output.

use std::io::{self, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

use super::scratch::Scratch;

/// Interval at which a process is checked for its end.
const LOOK_EVERY: Duration = Duration::from_millis(4);
/// Interval at which the size of its directory is measured.
const MEASURE_EVERY: Duration = Duration::from_millis(25);
/// Longest wait for the output of a process that has ended.
const LAST_OUTPUT: Duration = Duration::from_secs(10);

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ended {
    /// By itself, with this code.
    Exit(i32),
    /// By a signal: 9 and 24 if its processor time was used up, 25 if a file grew too large.
    Signal(i32),
    /// Killed: its wall time was used up.
    WallTime,
    /// Killed: its output exceeded the limit.
    Output,
    /// Killed: its files exceeded the limit in total size or in number.
    Files,
}

/// End and output of a process.
pub(super) struct ProcessOutcome {
    pub(super) ended: Ended,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

/// Limits that the parent process enforces.
#[derive(Debug, Clone, Copy)]
pub(super) struct Allowance {
    pub(super) until: Instant,
    pub(super) output_bytes: usize,
    /// Total size of its files; `None` where the kernel bounds it.
    pub(super) folder_bytes: Option<u64>,
}

/// Runs `command` in its own process group, feeds it `input`, and kills the whole group if it exceeds `allowance`.
pub(super) fn run(
    command: &mut Command,
    input: Vec<u8>,
    scratch: &Scratch,
    allowance: Allowance,
) -> io::Result<ProcessOutcome> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn()?;
    let stdin = child.stdin.take();
    thread::spawn(move || {
        // A program need not read what it is given.
        let _unread = stdin.map(|mut stdin| stdin.write_all(&input));
    });
    let full = Arc::new(AtomicBool::new(false));
    let most = allowance.output_bytes;
    let stdout = child.stdout.take().map(|pipe| collect(pipe, most, &full));
    let stderr = child.stderr.take().map(|pipe| collect(pipe, most, &full));
    let status = wait(&child, scratch, allowance, &full);
    // Also after an error: no process of the group may survive. It may have ended already.
    let _gone = kill_process_group(Pid::from_child(&child), Signal::KILL);
    let reaped = child.wait();
    let ended = match (status?, reaped?) {
        (Some(killed), _) => killed,
        (None, status) => ended(status),
    };
    let deadline = Instant::now() + LAST_OUTPUT;
    let text = |from: Option<Receiver<Vec<u8>>>| {
        let bytes = from.map(|from| from.recv_timeout(deadline - Instant::now().min(deadline)));
        String::from_utf8_lossy(&bytes.and_then(Result::ok).unwrap_or_default()).into_owned()
    };
    let (stdout, stderr) = (text(stdout), text(stderr));
    // The process may have ended by itself just after it exceeded the output limit.
    let ended = if full.load(Ordering::Relaxed) { Ended::Output } else { ended };
    Ok(ProcessOutcome { ended, stdout, stderr })
}

/// Waits for the end of the process; returns the limit it exceeded, or `None` if it ended by itself.
fn wait(
    child: &Child,
    scratch: &Scratch,
    allowance: Allowance,
    full: &AtomicBool,
) -> io::Result<Option<Ended>> {
    let mut measured = Instant::now();
    loop {
        if has_ended(child)? {
            return Ok(None);
        }
        if full.load(Ordering::Relaxed) {
            return Ok(Some(Ended::Output));
        }
        if Instant::now() >= allowance.until {
            return Ok(Some(Ended::WallTime));
        }
        if let Some(bytes) = allowance.folder_bytes
            && measured.elapsed() >= MEASURE_EVERY
        {
            if scratch.exceeds(bytes, child.id()) {
                return Ok(Some(Ended::Files));
            }
            measured = Instant::now();
        }
        thread::sleep(LOOK_EVERY);
    }
}

/// Reads up to `most` bytes on a thread; sets `full` if there are more.
fn collect(
    mut pipe: impl Read + Send + 'static,
    most: usize,
    full: &Arc<AtomicBool>,
) -> Receiver<Vec<u8>> {
    let (sender, receiver) = channel();
    let full = Arc::clone(full);
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _read = pipe.by_ref().take(most as u64 + 1).read_to_end(&mut bytes);
        if bytes.len() > most {
            bytes.truncate(most);
            full.store(true, Ordering::Relaxed);
            // A closed pipe would be told to the program.
            let _rest = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        let _heard = sender.send(bytes);
    });
    receiver
}

/// Checks for the end without reaping: until it is reaped, no other process or group can get its id.
fn has_ended(child: &Child) -> io::Result<bool> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    Ok(waitid(WaitId::Pid(Pid::from_child(child)), options)?.is_some())
}

fn ended(status: ExitStatus) -> Ended {
    match (status.code(), status.signal()) {
        (Some(code), _) => Ended::Exit(code),
        (None, signal) => Ended::Signal(signal.unwrap_or_default()),
    }
}
