//! Opens and writes the files of a run's steps: metrics, samples, tokens, and the law of entropy and reward.

use std::fs::{File, OpenOptions, create_dir_all};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use entropy_core::token_covariances;
use model_files::text_tokenizer::TextTokenizer;
use question_data::prompt::Prompt;
use run_report::run_law::{LawSource, RunLaw};
use run_report::tensorboard::{EventWriter, histogram};
use serde_json::json;
use training_run::config::Run;
use training_run::metrics::{MetricsWriter, StepMetrics, read_metrics};
use training_run::run_directory::RunDirectory;
use training_run::token_record::{TokenRecord, recorded_groups, selected_by_sample, token_lines};
use whole_file::{FolderLock, write_atomically};

use crate::child_group::end_within;
use crate::training::measurement::describe_samples;
use crate::training::scored::ScoredRollout;
use crate::training::update::UpdateColumns;

/// The files of a run; only the first rank writes those of its steps.
#[derive(Debug)]
pub(super) struct Recorder {
    run: Arc<Run>,
    pub(super) directory: RunDirectory,
    pub(super) files: Option<OpenFiles>,
    /// Entropy and reward so far.
    pub(super) law: RunLaw,
}

#[derive(Debug)]
pub(super) struct OpenFiles {
    /// Lock of the folder: one process trains a run.
    _lock: FolderLock,
    metrics: MetricsWriter,
    events: Option<EventWriter>,
    pub(super) feed: Option<MetricsFeed>,
}

impl Recorder {
    /// The files of a run from `step` on; that is its checkpoint's step if the run `is_resumed`. Every rank calls it; the
    /// first, which has the lock, writes.
    pub(super) fn begin(
        run: &Arc<Run>,
        (directory, lock): (RunDirectory, Option<FolderLock>),
        is_resumed: bool,
        step: u64,
    ) -> anyhow::Result<Self> {
        let run = Arc::clone(run);
        let Some(lock) = lock else {
            return Ok(Self { run, directory, files: None, law: RunLaw::default() });
        };
        // A run that was killed before its first checkpoint starts again; rows of steps that will be repeated go.
        let path = directory.metrics();
        let mut history = if is_resumed && path.exists() { read_metrics(&path)? } else { vec![] };
        history.retain(|row| row.step() <= step);
        let metrics = MetricsWriter::begin(&path, &history)?;
        directory.forget_samples_after(step)?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let begin_events = || EventWriter::begin(&directory.events(), &[], &history, now);
        let events = run.config().metrics.tensorboard.then(begin_events).transpose()?;
        let law = RunLaw::of(&history);
        let feed = MetricsFeed::start(&run, &directory, history.len())?;
        let files = Some(OpenFiles { _lock: lock, metrics, events, feed });
        Ok(Self { run, directory, files, law })
    }

    /// Writes the responses of a step; `prompts` has one prompt per group.
    pub(super) fn write_samples(
        &self,
        step: u64,
        prompts: &[&Prompt],
        scored: &ScoredRollout,
    ) -> anyhow::Result<()> {
        if self.files.is_some() {
            let lines = describe_samples(prompts, scored)?;
            write_atomically(&self.directory.step_samples(step), lines.as_bytes())?;
        }
        Ok(())
    }

    /// Writes the tokens of the configured groups. After the update, `selected` has the sequences that took part in it, and the
    /// positions, ascending, of the tokens among theirs that the loss selected.
    pub(super) fn write_tokens(
        &self,
        step: u64,
        tokenizer: &TextTokenizer,
        scored: &ScoredRollout,
        selected: Option<(&[usize], &[usize])>,
    ) -> anyhow::Result<()> {
        let count = self.run.config().metrics.token_groups;
        if count == 0 || self.files.is_none() {
            return Ok(());
        }
        let ScoredRollout { samples, layout, columns, informative, .. } = scored;
        let UpdateColumns { old, advantage, .. } = columns;
        let covariance = token_covariances(advantage, &old.log_prob);
        let mut selected = match selected {
            None => vec![None; samples.len()],
            Some((chosen, tokens)) => selected_by_sample(layout.lengths(), chosen, tokens),
        };
        let size = scored.group_size();
        let mut records = Vec::new();
        for group in recorded_groups(informative, count) {
            for sample in group * size..(group + 1) * size {
                let tokens = layout.range(sample);
                let token_ids = samples[sample].sequence.response.clone();
                records.push(TokenRecord {
                    sample,
                    text: tokenizer.pieces(&token_ids)?,
                    token_ids,
                    log_prob: old.log_prob[tokens.clone()].to_vec(),
                    entropy: old.entropy[tokens.clone()].to_vec(),
                    advantage: advantage[tokens.clone()].to_vec(),
                    covariance: covariance[tokens].to_vec(),
                    selected: selected[sample].take(),
                });
            }
        }
        write_atomically(&self.directory.step_tokens(step), token_lines(&records).as_bytes())?;
        Ok(())
    }

    /// Writes the metrics of a step, and the distribution of `lengths`, its response lengths in tokens.
    pub(super) fn write_metrics(
        &mut self,
        metrics: &StepMetrics,
        lengths: &[usize],
    ) -> anyhow::Result<()> {
        let Some(files) = &mut self.files else { return Ok(()) };
        files.metrics.append(metrics)?;
        if let Some(events) = &mut files.events {
            let lengths = histogram(lengths.iter().map(|&length| length as f64))
                .map(|lengths| ("response_length/distribution", lengths));
            events.append(metrics, lengths.as_slice(), SystemTime::now())?;
        }
        if let Some(feed) = &mut files.feed {
            feed.rows += 1;
            // The thread looks for another row; if it is about to already, that will do.
            let _ = feed.wake.as_ref().map(|wake| wake.try_send(()));
        }
        Ok(())
    }

    /// Fits the R–H law to the run so far, this step included. Returns a message after evaluations, or ten times a run.
    pub(super) fn fit_law(&mut self, metrics: &mut StepMetrics) -> Option<String> {
        self.law.push(metrics);
        let extrapolation = self.law.extrapolation()?;
        extrapolation.record(metrics);
        let (step, steps) = (metrics.step(), self.run.config().training.steps);
        let is_due = match self.law.source() {
            LawSource::Evaluations => self.run.evaluates_at(step),
            LawSource::Rewards => step.is_multiple_of((steps / 10).max(1)),
        };
        is_due.then(|| extrapolation.to_string())
    }
}

/// The program of `metrics.sink`, and the thread that feeds it. The file of metrics is the queue: the thread copies its lines to
/// the program's standard input. However slow the program is, the trainer never waits for it before the end of the run.
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
