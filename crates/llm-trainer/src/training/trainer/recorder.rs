//! Opens and writes the files of a run's steps: metrics, samples, tokens, and the law of entropy and reward.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use entropy_core::token_covariances;
use model_files::text_tokenizer::TextTokenizer;
use question_data::prompt::Prompt;
use run_report::run_law::{LawSource, RunLaw};
use run_report::tensorboard::{EventWriter, histogram};
use training_run::config::Run;
use training_run::metrics::{MetricsWriter, StepMetrics, read_metrics};
use training_run::run_directory::RunDirectory;
use training_run::token_record::{TokenRecord, recorded_groups, selected_by_sample, token_lines};
use whole_file::{FolderLock, write_atomically};

use super::metrics_feed::MetricsFeed;
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

/// The files that every step adds to.
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
        let (metrics, history) = begin_metrics(&directory, is_resumed, step)?;
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
            feed.row_added();
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

/// Opens the metrics file with the rows up to `step`, which will not be repeated, and returns it with them. A run that was killed
/// before its first checkpoint starts again.
fn begin_metrics(
    directory: &RunDirectory,
    is_resumed: bool,
    step: u64,
) -> anyhow::Result<(MetricsWriter, Vec<StepMetrics>)> {
    let path = directory.metrics();
    let mut rows = if is_resumed && path.exists() { read_metrics(&path)? } else { Vec::new() };
    rows.retain(|row| row.step() <= step);
    Ok((MetricsWriter::begin(&path, &rows)?, rows))
}
