//! Progress of an experiment on standard error, and the store of its runs.

use super::run_cache::{CachedShare, RunCache};
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// Lines that a long experiment prints where there is no terminal.
const LINES: u64 = 10;

/// Shows progress, as a bar on a terminal and plain lines elsewhere, and stores runs. All methods may be called from
/// any thread.
#[derive(Debug)]
pub struct Progress {
    name: &'static str,
    bar: ProgressBar,
    done: AtomicU64,
    runs: Arc<RunCache>,
    kept: Mutex<CachedShare>,
}

impl Progress {
    /// Prints nothing.
    #[cfg(test)]
    pub fn silent() -> Self {
        Self::of("", ProgressBar::hidden())
    }

    /// Reports on the finding `name` on standard error.
    pub fn stderr(name: &'static str) -> Self {
        let bar = ProgressBar::new(0).with_prefix(name);
        let style = ProgressStyle::with_template("{prefix} {bar:32} {pos}/{len} {elapsed} {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self::of(name, bar)
    }

    fn of(name: &'static str, bar: ProgressBar) -> Self {
        let (runs, kept) = (Arc::default(), Mutex::default());
        Self { name, bar, done: AtomicU64::new(0), runs, kept }
    }

    /// Stores runs in `runs`, not in memory for this experiment alone.
    #[must_use]
    pub(super) fn keeping(self, runs: Arc<RunCache>) -> Self {
        Self { runs, ..self }
    }

    /// The result of a run, which is done only if no experiment has done it yet: [`RunCache::get`].
    pub(super) fn run<T: Serialize + DeserializeOwned>(
        &self,
        settings: &impl Serialize,
        seed: u64,
        run: impl FnOnce() -> T,
    ) -> T {
        let (result, kept_seconds) = self.runs.get(settings, seed, run);
        if let Some(seconds) = kept_seconds {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            *kept = CachedShare { runs: kept.runs + 1, seconds: kept.seconds + seconds };
        }
        result
    }

    /// Runs that were not repeated for this experiment.
    pub fn kept(&self) -> CachedShare {
        *self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds `steps` to what there is to do.
    pub fn plan(&self, steps: u64) {
        self.bar.inc_length(steps);
    }

    /// Tells that `steps` more are done.
    pub fn advance(&self, steps: u64) {
        self.bar.inc(steps);
        let before = self.done.fetch_add(steps, Ordering::Relaxed);
        let total = self.bar.length().unwrap_or(0);
        // A bar is hidden where there is no terminal.
        if self.bar.is_hidden() && crosses_a_tenth(before, before + steps, total) {
            self.line(&format!("{} of {total} steps", before + steps));
        }
    }

    /// Tells what is under way, on the bar alone.
    pub fn say(&self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    /// Ends the bar and tells nothing.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }

    /// Ends the bar and tells the outcome in a line.
    pub fn finish(&self, outcome: &str) {
        self.clear();
        if !self.name.is_empty() {
            self.line(outcome);
        }
    }

    fn line(&self, text: &str) {
        // Nobody may be listening; that is no reason to stop. In one write, as other processes may write too.
        let _ = std::io::stderr().write_all(format!("{}: {text}\n", self.name).as_bytes());
    }
}

fn crosses_a_tenth(before: u64, after: u64, total: u64) -> bool {
    let tenth = |done: u64| (done * LINES).checked_div(total).unwrap_or(0);
    total >= LINES && after < total && tenth(after) > tenth(before)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_experiment_prints_a_line_a_tenth() {
        let lines =
            |total: u64| (0..total).filter(|&at| crosses_a_tenth(at, at + 1, total)).count();
        assert_eq!((lines(1000), lines(25), lines(3), lines(0)), (9, 9, 0, 0));
    }
}
