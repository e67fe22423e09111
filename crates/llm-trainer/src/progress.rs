//! Progress of long work: a bar on a terminal, plain lines otherwise.

use std::cell::Cell;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Longest time between lines if there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress of one job of a known number of steps, on standard error or in a file.
#[derive(Debug)]
pub(crate) struct Progress {
    name: String,
    total: u64,
    bar: Option<ProgressBar>,
    /// File that receives every line in place of standard error.
    log: Option<File>,
    last_line: Cell<Option<Instant>>,
}

impl Progress {
    pub(crate) fn new(name: &str, total: u64, done: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = style("{prefix} {bar:30} {pos}/{len} {msg} [{elapsed}, {eta} left]");
            let bar = ProgressBar::new(total).with_style(style).with_prefix(name.to_owned());
            bar.set_position(done);
            bar.reset_eta();
            bar
        });
        Self { name: name.to_owned(), total, bar, log: None, last_line: Cell::new(None) }
    }

    /// A job that appends every line to a file, at once.
    pub(crate) fn logged(name: &str, total: u64, path: &Path) -> std::io::Result<Self> {
        let file = File::options().append(true).create(true).open(path)?;
        let (log, last_line) = (Some(file), Cell::new(None));
        Ok(Self { name: name.to_owned(), total, bar: None, log, last_line })
    }

    /// Records that `step` steps are done; `message` summarises them.
    pub(crate) fn advance(&self, step: u64, message: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(message.to_owned());
            bar.set_position(step);
            return;
        }
        self.step_line(step, message, step >= self.total);
    }

    /// Records that `step` steps are done and a phase of the next begins; prints a line only after a silence.
    pub(crate) fn phase(&self, step: u64, phase: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(phase.to_owned());
            bar.tick();
        } else {
            self.step_line(step, phase, false);
        }
    }

    /// Prints a line of a step after a silence, and always into a log or if it `must` be printed.
    fn step_line(&self, step: u64, text: &str, must: bool) {
        let is_recent = self.last_line.get().is_some_and(|last| last.elapsed() < LINE_EVERY);
        if !is_recent || must || self.log.is_some() {
            self.line(&format!("{} {step}/{} {text}", self.name, self.total));
            self.last_line.set(Some(Instant::now()));
        }
    }

    /// Prints a line, above the bar if there is one.
    pub(crate) fn say(&self, line: &str) {
        let line = format!("{}: {line}", self.name);
        match &self.bar {
            Some(bar) => bar.println(line),
            None => self.line(&line),
        }
    }

    fn line(&self, line: &str) {
        match &self.log {
            // A log that cannot be written is no reason to end a run.
            Some(file) => drop(writeln!(&*file, "{line}")),
            None => eprintln!("{line}"),
        }
    }

    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish();
        }
    }

    /// Ends the job before its last step: the bar stays and no longer shows the remaining time.
    pub(crate) fn interrupt(&self) {
        if let Some(bar) = &self.bar {
            bar.set_style(style("{prefix} {bar:30} {pos}/{len} {msg} [{elapsed}]"));
            bar.abandon();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // A template that did not parse would cost the bar its looks and nothing else.
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_of_an_interrupted_job_stays_where_it_was() {
        let bar = ProgressBar::hidden();
        bar.set_length(80);
        let (log, last_line) = (None, Cell::new(None));
        let job = Progress { name: "job".to_owned(), total: 80, bar: Some(bar), log, last_line };
        job.advance(4, "reward 0.5");
        job.interrupt();
        let bar = job.bar.as_ref().expect("given above");
        assert_eq!((bar.position(), bar.is_finished()), (4, true));
    }
}
