//! Signals by which the operator controls a running run.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals as Listener;
use signal_hook::low_level::emulate_default_handler;

use crate::interruption::Interruption;

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
    fn requests_that_come_together_are_one() {
        let start = Instant::now();
        let mut asked = None;
        for (milliseconds, expected) in [(0, false), (3, false), (1_999, false), (2_000, true)] {
            let now = start + Duration::from_millis(milliseconds);
            assert_eq!(insists(&mut asked, now), expected, "after {milliseconds} ms");
        }
    }
}
