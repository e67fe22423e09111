//! The event file of a run, which takes over the events of older files.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use prost::Message;
use training_run::metrics::{METRICS, StepMetrics};
use whole_file::{FileError, if_there, read_at_most};

use super::event::{
    Event, EventContent, FILE_VERSION, HistogramProto, PluginData, SCALAR, SessionLog, Summary,
    SummaryMetadata, Value, ValueKind,
};
use super::record::{frame, read_records};

/// Parts of the file name: the one by which TensorBoard finds event files, and the one of this program.
const NAME: &str = "tfevents.";
const AUTHOR: &str = ".llm-trainer.";

/// Longest event file that is read, in bytes: a hundred thousand steps and more.
const LONGEST_EVENTS_BYTES: u64 = 1 << 30;

/// `SessionLog.START`
const START: i32 = 1;

/// Appends one event per step.
#[derive(Debug)]
pub struct EventWriter {
    file: File,
    path: PathBuf,
    /// Metrics that the file already describes.
    described: BTreeSet<String>,
}

impl EventWriter {
    /// Starts the only file of `folder`, which is created if missing. It holds the steps of `history`, each as the files of
    /// `sources` and of the folder last recorded it, else from its metrics. Older files of the folder are emptied.
    /// A step in no file has the wall time `end`, seconds since 1970, less the `timing_s/step` of the steps after it.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming the file. A torn end of an older file is no error: nothing after it was ever read.
    pub fn begin(
        folder: &Path,
        sources: &[PathBuf],
        history: &[StepMetrics],
        end: f64,
    ) -> Result<Self, FileError> {
        fs::create_dir_all(folder).map_err(FileError::of(folder, "create the folder"))?;
        let mut known = BTreeMap::new();
        for source in sources {
            collect(&event_files(source)?, &mut known)?;
        }
        let older = event_files(folder)?;
        collect(&older, &mut known)?;
        let path = folder.join(file_name(&older, end));
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let file = file.map_err(FileError::of(&path, "create"))?;
        let mut writer = Self { file, path, described: BTreeSet::new() };
        let times = wall_times(history, end);
        let start = times.first().copied().unwrap_or(end);
        let version = EventContent::FileVersion(FILE_VERSION.to_owned());
        let mut bytes = record(&Event { wall_time: start, step: 0, content: Some(version) });
        let session = EventContent::SessionLog(SessionLog { status: START });
        bytes.extend(record(&Event { wall_time: start, step: 0, content: Some(session) }));
        for (metrics, time) in history.iter().zip(times) {
            let event = known.remove(&step_of(metrics));
            let event = event.unwrap_or_else(|| writer.event(metrics, &[], time));
            writer.note_described(&event);
            bytes.extend(record(&event));
        }
        writer.write(&bytes)?;
        writer.file.sync_data().map_err(FileError::of(&writer.path, "flush"))?;
        for path in older {
            retire(&path).map_err(FileError::of(&path, "empty the older file"))?;
        }
        Ok(writer)
    }

    /// Appends one step: its metrics, and histograms by name.
    ///
    /// # Errors
    ///
    /// [`FileError`]; the file may then end in a torn record, which every reader skips.
    pub fn append(
        &mut self,
        metrics: &StepMetrics,
        histograms: &[(&str, HistogramProto)],
        now: SystemTime,
    ) -> Result<(), FileError> {
        let event = self.event(metrics, histograms, seconds(now));
        self.note_described(&event);
        self.write(&record(&event))
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), FileError> {
        self.file.write_all(bytes).map_err(FileError::of(&self.path, "append to"))
    }

    fn event(
        &self,
        metrics: &StepMetrics,
        histograms: &[(&str, HistogramProto)],
        wall_time: f64,
    ) -> Event {
        let scalars = metrics.iter().map(|(name, value)| {
            #[expect(clippy::cast_possible_truncation, reason = "the format's precision")]
            let kind = ValueKind::SimpleValue(value as f32);
            let metadata = (!self.described.contains(name)).then(|| describe(name)).flatten();
            Value { tag: name.to_owned(), kind: Some(kind), metadata }
        });
        let spread = histograms.iter().map(|(name, histogram)| {
            let kind = Some(ValueKind::Histogram(histogram.clone()));
            Value { tag: (*name).to_owned(), kind, metadata: None }
        });
        let summary = Summary { value: scalars.chain(spread).collect() };
        Event { wall_time, step: step_of(metrics), content: Some(EventContent::Summary(summary)) }
    }

    fn note_described(&mut self, event: &Event) {
        if let Some(EventContent::Summary(summary)) = &event.content {
            let described = summary.value.iter().filter(|value| value.metadata.is_some());
            self.described.extend(described.map(|value| value.tag.clone()));
        }
    }
}

/// Empties a file, or removes it if it is empty. A running TensorBoard proceeds to the next file only while the old one exists.
fn retire(path: &Path) -> std::io::Result<()> {
    if fs::metadata(path)?.len() == 0 {
        return fs::remove_file(path);
    }
    OpenOptions::new().write(true).open(path)?.set_len(0)
}

/// Seconds since 1970.
fn seconds(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// Unit and definition of a metric; `None` if the table lacks it.
fn describe(name: &str) -> Option<SummaryMetadata> {
    let metric = METRICS.iter().find(|metric| metric.name == name)?;
    let unit = if metric.unit == "1" { "a number" } else { metric.unit };
    let summary_description = format!("{} In {unit}.", metric.definition);
    let plugin_data = Some(PluginData { plugin_name: "scalars".to_owned() });
    Some(SummaryMetadata { plugin_data, summary_description, data_class: SCALAR })
}

/// Estimates when each step ended from the durations of the steps.
fn wall_times(history: &[StepMetrics], end: f64) -> Vec<f64> {
    let (mut time, mut times) = (end, vec![end; history.len()]);
    for (metrics, ended) in history.iter().zip(&mut times).rev() {
        *ended = time;
        time -= metrics.get("timing_s/step").unwrap_or(0.0);
    }
    times
}

fn step_of(metrics: &StepMetrics) -> i64 {
    i64::try_from(metrics.step()).unwrap_or(i64::MAX)
}

fn record(event: &Event) -> Vec<u8> {
    frame(&event.encode_to_vec())
}

/// Names the new file so that it sorts after every older one.
fn file_name(older: &[PathBuf], end: f64) -> String {
    let second = |path: &PathBuf| -> Option<u64> {
        let name = path.file_name()?.to_str()?;
        name.strip_prefix("events.out.tfevents.")?.split('.').next()?.parse().ok()
    };
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a date")]
    let now = end as u64;
    let after = older.iter().filter_map(second).max().map_or(0, |second| second + 1);
    let (second, process) = (now.max(after), std::process::id());
    format!("events.out.{NAME}{second:010}{AUTHOR}{process}.0")
}

/// Lists the event files of a folder that this program wrote, in reading order; empty if the folder is missing.
///
/// # Errors
///
/// [`FileError`].
pub fn event_files(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    for entry in if_there(folder, fs::read_dir(folder))?.into_iter().flatten() {
        let path = entry.map_err(FileError::of(folder, "read"))?.path();
        let name = path.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.contains(NAME) && name.contains(AUTHOR)) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// Reads the events of a file before the first record that is torn, damaged or no event; and true if it has no such record.
///
/// # Errors
///
/// [`FileError`].
pub fn read_events(path: &Path) -> Result<(Vec<Event>, bool), FileError> {
    let bytes = read_at_most(path, LONGEST_EVENTS_BYTES).map_err(FileError::of(path, "read"))?;
    let (contents, is_whole) = read_records(&bytes);
    let decoded = contents.iter().map_while(|content| Event::decode(*content).ok());
    let events: Vec<Event> = decoded.collect();
    let is_whole = is_whole && events.len() == contents.len();
    Ok((events, is_whole))
}

/// Collects the summaries of files by step; a later one replaces an earlier one of the same step.
fn collect(paths: &[PathBuf], known: &mut BTreeMap<i64, Event>) -> Result<(), FileError> {
    for path in paths {
        let events = read_events(path)?.0.into_iter();
        let summaries = events.filter(|one| matches!(one.content, Some(EventContent::Summary(_))));
        known.extend(summaries.map(|event| (event.step, event)));
    }
    Ok(())
}
