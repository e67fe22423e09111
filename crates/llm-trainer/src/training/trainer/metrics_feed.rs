//! `metrics.sink`: a program that is fed the metrics of a run.
//!
//! The file of metrics is the queue: a thread copies its lines to the program's standard input. However slow the program is, the
//! trainer never waits for it before the end of the run.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;
use serde_json::json;
use training_run::config::Run;
use training_run::run_directory::RunDirectory;

use crate::child_group::end_within;

/// A running program, and the thread that feeds it.
#[derive(Debug)]
pub(super) struct MetricsFeed {
    child: Child,
    /// Wakes the thread; dropped to end it.
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    /// Rows in the file.
    rows: u64,
    /// Rows that the program's input has taken.
    fed: Arc<AtomicU64>,
    log: PathBuf,
    /// Time that the program has for the last rows once the run has ended.
    wait: Duration,
    has_warned: bool,
}

impl MetricsFeed {
    /// Starts the program of the configuration, if it names one; the file of metrics has `rows` rows already.
    pub(super) fn start(
        run: &Run,
        directory: &RunDirectory,
        rows: usize,
    ) -> anyhow::Result<Option<Self>> {
        let Some(sink) = &run.config().metrics.sink else { return Ok(None) };
        let (program, arguments) = sink.command.split_first().context("no program")?;
        let root = directory.root();
        let log = root.join("logs/metrics-sink.log");
        let open_log = || {
            create_dir_all(root.join("logs"))?;
            OpenOptions::new().create(true).append(true).open(&log)
        };
        let output = open_log().with_context(|| log.display().to_string())?;
        let spawned = Command::new(program)
            .args(arguments)
            // Ctrl-C asks the trainer to end after its step, which the program is told, too.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn();
        let mut child =
            spawned.with_context(|| format!("metrics.sink.command: cannot start {program}"))?;
        let input = child.stdin.take().context("its input is piped")?;
        let header = json!({
            "run": run.config().name,
            "directory": root,
            "config": run.written(),
        });
        let (wake, woken) = sync_channel(1);
        let fed = Arc::new(AtomicU64::new(0));
        let (path, count) = (directory.metrics(), Arc::clone(&fed));
        // The end of the program is told with its status, not with that of its input.
        let copying = move || drop(copy_lines(input, &path, &header.to_string(), &woken, &count));
        let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(copying)?;
        let (wake, thread, rows) = (Some(wake), Some(thread), rows as u64);
        let wait = Duration::from_secs_f64(sink.wait_seconds);
        Ok(Some(Self { child, wake, thread, rows, fed, log, wait, has_warned: false }))
    }

    /// Tells the thread that the file has another row.
    pub(super) fn row_added(&mut self) {
        self.rows += 1;
        if let Some(wake) = &self.wake {
            // One that is waiting already will do.
            let _ = wake.try_send(());
        }
    }

    /// A warning, once, if the program has ended before the run.
    pub(super) fn warning(&mut self) -> Option<String> {
        let has_ended = self.thread.as_ref().is_some_and(JoinHandle::is_finished);
        if self.has_warned || !has_ended {
            return None;
        }
        self.has_warned = true;
        let status = match self.child.try_wait() {
            Ok(Some(status)) => format!("ended with {status}"),
            _ => "closed its input".to_owned(),
        };
        let (fed, log) = (self.fed.load(Ordering::Relaxed), self.log.display());
        Some(format!(
            "metrics.sink.command {status} after {fed} rows; the run goes on without it ({log})"
        ))
    }
}

impl Drop for MetricsFeed {
    fn drop(&mut self) {
        self.wake = None;
        let was_heard = end_within(&mut self.child, self.wait);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        let left = self.rows.saturating_sub(self.fed.load(Ordering::Relaxed));
        if !was_heard || (left > 0 && !self.has_warned) {
            let (rows, log) = (self.rows, self.log.display());
            eprintln!(
                "warning: metrics.sink.command has not taken {left} of {rows} rows, or not ended within {} s ({log})",
                self.wait.as_secs_f64()
            );
        }
    }
}

/// Writes the header, then the lines of the file as they come, until the run has ended.
fn copy_lines(
    mut input: ChildStdin,
    path: &Path,
    header: &str,
    woken: &Receiver<()>,
    fed: &AtomicU64,
) -> io::Result<()> {
    writeln!(input, "{header}")?;
    let mut file = BufReader::new(File::open(path)?);
    let mut line = Vec::new();
    loop {
        let has_more = woken.recv().is_ok();
        while file.read_until(b'\n', &mut line)? > 0 {
            if line.last() == Some(&b'\n') {
                input.write_all(&line)?;
                fed.fetch_add(1, Ordering::Relaxed);
                line.clear();
            }
        }
        if !has_more {
            return Ok(());
        }
    }
}
