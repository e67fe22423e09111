//! What the operator asks of a run that is going on.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM, SIGUSR1};
use signal_hook::flag;

/// SIGTERM and SIGINT ask for the end after the step in progress, SIGUSR1 for a checkpoint; a second SIGTERM or SIGINT
/// ends the process at once.
#[derive(Debug)]
pub(crate) struct Signals {
    end: Arc<AtomicBool>,
    save: Arc<AtomicBool>,
}

impl Signals {
    /// Listens from now on.
    pub(crate) fn listen() -> io::Result<Self> {
        let signals = Self { end: Arc::default(), save: Arc::default() };
        for signal in [SIGTERM, SIGINT] {
            // In this order: the first one finds the flag unset, and sets it.
            flag::register_conditional_default(signal, Arc::clone(&signals.end))?;
            flag::register(signal, Arc::clone(&signals.end))?;
        }
        flag::register(SIGUSR1, Arc::clone(&signals.save))?;
        Ok(signals)
    }

    /// Whether the run is to end.
    pub(crate) fn asked_to_end(&self) -> bool {
        self.end.load(Ordering::Relaxed)
    }

    /// Whether a checkpoint was asked for since the last question.
    pub(crate) fn asked_to_save(&self) -> bool {
        self.save.swap(false, Ordering::Relaxed)
    }
}
