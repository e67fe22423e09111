//! What the operator asks of a run that is going on.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals as Listener;
use signal_hook::low_level::emulate_default_handler;

use crate::interruption::Interruption;

/// SIGTERM and SIGINT that come within this time of the first one are the same request. Slurm at a job's end sends SIGTERM to
/// every task and to `srun`, which passes it on; a terminal sends SIGINT to a launcher and to what it started.
const SAME_REQUEST: Duration = Duration::from_secs(2);

/// SIGTERM and SIGINT ask for the end after the step in progress, SIGUSR1 for a checkpoint; a SIGTERM or SIGINT that comes
/// [`SAME_REQUEST`] after the first ends the process at once.
#[derive(Debug)]
pub(crate) struct Signals {
    /// The first signal that asked for the end; 0 before.
    end: Arc<AtomicI32>,
    save: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on, for as long as the process lives.
    pub(crate) fn listen() -> io::Result<Self> {
        let signals = Self { end: Arc::default(), save: Arc::default() };
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
                } else {
                    let _ = end.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
                }
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(listen)?;
        Ok(signals)
    }

    /// Whether the run is to end, and by which signal.
    pub(crate) fn asked_to_end(&self) -> Option<Interruption> {
        Interruption::of_signal(self.end.load(Ordering::Relaxed))
    }

    /// Whether a checkpoint was asked for since the last question.
    pub(crate) fn asked_to_save(&self) -> bool {
        self.save.swap(false, Ordering::Relaxed)
    }
}

/// Whether a request to end that came `now` is another than the first one, which came at `asked`.
fn insists(asked: &mut Option<Instant>, now: Instant) -> bool {
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
