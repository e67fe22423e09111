//! Opens the files of a run that starts or resumes.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context;
use run_report::run_law::RunLaw;
use run_report::tensorboard::EventWriter;
use training_run::config::{Run, RunConfig};
use training_run::metrics::{MetricsWriter, StepMetrics, read_metrics};
use training_run::resume::Origin;
use training_run::run_directory::RunDirectory;
use whole_file::FolderLock;

use super::metrics_feed::MetricsFeed;
use super::recorder::{OpenFiles, Recorder};

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
        let events = begin_events(&directory, run.config(), &history)?;
        let law = RunLaw::of(&history);
        let feed = MetricsFeed::start(&run, &directory, history.len())?;
        let files = Some(OpenFiles { _lock: lock, metrics, events, feed });
        Ok(Self { run, directory, files, law })
    }
}

/// Opens the metrics file from `step` on, and returns it with the steps that it already has.
fn begin_metrics(
    directory: &RunDirectory,
    is_resumed: bool,
    step: u64,
) -> anyhow::Result<(MetricsWriter, Vec<StepMetrics>)> {
    let path = directory.metrics();
    if is_resumed && path.exists() {
        let file = MetricsWriter::resume(&path, step)?;
        return Ok((file, read_metrics(&path)?));
    }
    // A run that was killed before its first checkpoint starts again.
    if path.exists() {
        std::fs::remove_file(&path).with_context(|| path.display().to_string())?;
    }
    Ok((MetricsWriter::create(&path)?, Vec::new()))
}

/// Opens the event files from the same step on, if they are configured.
fn begin_events(
    directory: &RunDirectory,
    config: &RunConfig,
    history: &[StepMetrics],
) -> anyhow::Result<Option<EventWriter>> {
    if !config.metrics.tensorboard {
        return Ok(None);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    Ok(Some(EventWriter::begin(&directory.events(), &[], history, now)?))
}

/// The folder of the run. A branch gets the metrics of the run that led to its checkpoint.
pub(super) fn directory_of(
    origin: Origin,
    create: impl FnOnce() -> anyhow::Result<RunDirectory>,
) -> anyhow::Result<RunDirectory> {
    match origin {
        Origin::New => create(),
        Origin::GoOn(directory, checkpoint) => {
            directory.check_latest(checkpoint.as_ref())?;
            Ok(directory)
        }
        Origin::Rewind(directory, checkpoint) => {
            directory.point_latest_at(checkpoint.step)?;
            Ok(directory)
        }
        Origin::Branch(checkpoint) => {
            let directory = create()?;
            let run_of = checkpoint.path.parent().and_then(Path::parent);
            let history = run_of.map(|root| root.join("metrics.jsonl"));
            if let Some(history) = history.filter(|history| history.is_file()) {
                std::fs::copy(&history, directory.metrics())
                    .with_context(|| history.display().to_string())?;
            }
            Ok(directory)
        }
    }
}
