//! Runs that were asked to end before their last step, and the exit codes that say so.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals as Listener;
use signal_hook::low_level::emulate_default_handler;
use thiserror::Error;

/// A request to end that was obeyed; what was done is saved. An error only in that the work is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Interruption {
    /// SIGINT, as Ctrl-C sends it.
    #[error("ended by a signal")]
    Interrupt,
    /// SIGTERM.
    #[error("ended by a signal")]
    Terminate,
    /// `--deadline`.
    #[error("ended before its deadline")]
    Deadline,
}

impl Interruption {
    /// The code that a shell shows: 128 and the signal's number, or `EX_TEMPFAIL` of `sysexits.h`, "come again".
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::Deadline => 75,
        }
    }

    /// The interruption that a process reports by this exit code.
    pub fn of_exit_code(code: u8) -> Option<Self> {
        [Self::Interrupt, Self::Terminate, Self::Deadline]
            .into_iter()
            .find(|interruption| interruption.exit_code() == code)
    }

    /// The exit code of this process. After SIGINT a process that is no rank of several ends by that signal and does not
    /// return: a shell goes on with a loop unless its command died of SIGINT itself.
    pub fn end(self) -> u8 {
        let is_rank = std::env::var("WORLD_SIZE").is_ok_and(|count| count.trim() != "1");
        // The kernel drops a signal that the first process of a container sends itself.
        let can_raise = std::process::id() != 1 && !is_rank;
        let restarts = std::env::var("TORCHELASTIC_MAX_RESTARTS").ok();
        let code = self.exit_code_under(restarts.as_deref());
        if self == Self::Interrupt && code != 0 && can_raise {
            let _ = emulate_default_handler(SIGINT);
        }
        code
    }

    /// The exit code where a launcher starts failed ranks `restarts` times. It would start a rank again that ended as it was
    /// told to, and the run would outlive its deadline: there, 0.
    fn exit_code_under(self, restarts: Option<&str>) -> u8 {
        let never = restarts.is_none_or(|restarts| restarts.trim() == "0");
        if never { self.exit_code() } else { 0 }
    }
}

/// Time within which further SIGTERM and SIGINT count as the same request. At a job's end Slurm sends SIGTERM to
/// every task and to `srun`, which forwards it; a terminal sends SIGINT to a launcher and to its children.
const SAME_REQUEST: Duration = Duration::from_secs(2);

/// SIGTERM and SIGINT ask for the end after the current step, SIGUSR1 for a checkpoint. A second SIGTERM or SIGINT at least
/// [`SAME_REQUEST`] after the first ends the process at once.
#[derive(Debug, Default)]
pub(crate) struct Signals {
    /// First request to end.
    end: Arc<OnceLock<Interruption>>,
    save: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on, for the life of the process.
    pub(crate) fn listen() -> io::Result<Self> {
        let signals = Self::default();
        let mut listener = Listener::new([SIGTERM, SIGINT, SIGUSR1])?;
        let (end, save) = (Arc::clone(&signals.end), Arc::clone(&signals.save));
        let listen = move || {
            let mut asked = None;
            for signal in listener.forever() {
                if signal == SIGUSR1 {
                    save.store(true, Ordering::Relaxed);
                } else if insists(&mut asked, Instant::now()) {
                    // Ends the process: both signals do so by default.
                    let _ = emulate_default_handler(signal);
                } else if signal == SIGINT {
                    let _ = end.set(Interruption::Interrupt);
                } else {
                    let _ = end.set(Interruption::Terminate);
                }
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
        Ok(signals)
    }

    /// Returns the signal that asked the run to end, if any.
    pub(crate) fn asked_to_end(&self) -> Option<Interruption> {
        self.end.get().copied()
    }

    /// Returns true if a checkpoint was requested since the last call.
    pub(crate) fn asked_to_save(&self) -> bool {
        self.save.swap(false, Ordering::Relaxed)
    }
}

/// Returns true if a request to end at `now` is a new one, not the first, which came at `asked`.
pub(crate) fn insists(asked: &mut Option<Instant>, now: Instant) -> bool {
    now.duration_since(*asked.get_or_insert(now)) >= SAME_REQUEST
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_that_restarts_what_failed_is_told_that_all_is_well() {
        for (restarts, expected) in [(None, 75), (Some("0"), 75), (Some("3"), 0)] {
            assert_eq!(Interruption::Deadline.exit_code_under(restarts), expected, "{restarts:?}");
        }
        assert_eq!(Interruption::Interrupt.exit_code_under(None), 130);
    }

    #[test]
    fn requests_that_come_together_are_one() {
        let start = Instant::now();
        let mut asked = None;
        for (milliseconds, expected) in [(0, false), (3, false), (1_999, false), (2_000, true)] {
            let now = start + Duration::from_millis(milliseconds);
            assert_eq!(insists(&mut asked, now), expected, "after {milliseconds} ms");
        }
    }
}
