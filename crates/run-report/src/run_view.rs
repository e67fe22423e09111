//! A run read from its folder, finished, interrupted or running.

use std::collections::BTreeSet;
use std::fs;
use std::io::BufReader;
use std::path::Path;
use std::time::SystemTime;

use messages::plain_words;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use training_run::metrics::{StepMetrics, read_metrics};
use training_run::run_directory::RunDirectory;
use training_run::token_record::TokenRecord;
use whole_file::{
    FileError, LONGEST_RECORD_BYTES, NumberedLine, NumberedLines, if_there, open_regular,
};

/// One response of a step, a line of `samples/step-N.jsonl`.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
pub struct ViewedSample {
    /// Step at which it was sampled.
    #[serde(skip)]
    pub step: u64,
    /// Index of its group within the step.
    #[serde(default)]
    pub group: usize,
    /// Text of the question.
    pub problem: String,
    /// Known answer.
    pub answer: String,
    /// Response of the policy.
    pub response: String,
    /// Reward of the response.
    pub reward: f64,
    /// Mean advantage of its tokens; `None` if it has none.
    pub advantage: Option<f64>,
    /// Length of the response.
    #[serde(default)]
    pub response_tokens: usize,
    /// True if it was cut at the longest length.
    #[serde(default)]
    pub truncated: bool,
    /// `right`, `wrong` or `unparsed`.
    #[serde(default)]
    pub verdict: String,
    /// Comparison that the verdict rests on.
    #[serde(default)]
    pub how: Value,
    /// Reason that an answer cannot be read.
    #[serde(default)]
    pub why: Value,
    /// Tokens of the response, if they were recorded.
    #[serde(skip)]
    pub tokens: Option<TokenRecord>,
}

impl ViewedSample {
    /// Reason for the verdict.
    pub fn reason(&self) -> String {
        words(if self.why.is_null() { &self.how } else { &self.why })
    }
}

/// The folder of a run and its metrics.
#[derive(Debug)]
pub struct RunView {
    pub(crate) directory: RunDirectory,
    /// Name of the folder.
    pub(crate) name: String,
    metrics: Vec<StepMetrics>,
    /// Steps that have metrics or responses, ascending; 0 is before the first update.
    pub(crate) steps: Vec<u64>,
    /// Time of the last write to the metrics, and their length in bytes.
    stamp: Option<(SystemTime, u64)>,
}

impl RunView {
    /// Opens the run in a folder.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming the folder, or file and line.
    pub fn open(root: &Path) -> Result<Self, FileError> {
        let directory = RunDirectory::view(root)?;
        let absolute = fs::canonicalize(root).unwrap_or_else(|_| root.to_path_buf());
        let name = absolute.file_name().unwrap_or(absolute.as_os_str());
        let name = name.to_string_lossy().into_owned();
        let mut view = Self { directory, name, metrics: vec![], steps: vec![], stamp: None };
        view.refresh()?;
        Ok(view)
    }

    /// Reads new steps and metrics; returns true if there is a new step.
    pub(crate) fn refresh(&mut self) -> Result<bool, FileError> {
        let path = self.directory.metrics();
        let stamp = fs::metadata(&path).ok();
        let stamp = stamp.and_then(|found| Some((found.modified().ok()?, found.len())));
        let sampled = self.sampled_steps()?;
        let known: BTreeSet<u64> = self.steps.iter().copied().collect();
        if stamp == self.stamp && sampled.is_subset(&known) && !self.steps.is_empty() {
            return Ok(false);
        }
        self.metrics = if stamp.is_some() { read_metrics(&path)? } else { Vec::new() };
        self.stamp = stamp;
        let mut steps = sampled;
        steps.extend(self.metrics.iter().map(StepMetrics::step));
        self.steps = steps.iter().copied().collect();
        Ok(steps != known || known.is_empty())
    }

    /// Metrics of all steps that have any, in the order of the file.
    pub fn metrics(&self) -> &[StepMetrics] {
        &self.metrics
    }

    /// Metrics of a step; `None` until it is finished.
    pub(crate) fn metrics_of(&self, step: u64) -> Option<&StepMetrics> {
        self.metrics.iter().find(|metrics| metrics.step() == step)
    }

    /// Responses of a step, ordered by group; empty if there are none.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming file and line; a torn last line is left out.
    pub fn samples(&self, step: u64) -> Result<Vec<ViewedSample>, FileError> {
        let path = self.directory.step_samples(step);
        let mut samples: Vec<ViewedSample> = read_lines(&path)?;
        for sample in &mut samples {
            sample.step = step;
        }
        let path = self.directory.step_tokens(step);
        for (index, record) in read_lines::<TokenRecord>(&path)?.into_iter().enumerate() {
            let fault = |problem| fault_of_line(&path, index + 1, problem);
            record.check().map_err(fault)?;
            let count = samples.len();
            let sample = samples.get_mut(record.sample).ok_or_else(|| {
                fault(format!("`sample` is {}, expected less than {count}", record.sample))
            })?;
            sample.tokens = Some(record);
        }
        Ok(samples)
    }

    fn sampled_steps(&self) -> Result<BTreeSet<u64>, FileError> {
        let folder = self.directory.root().join("samples");
        let mut steps = BTreeSet::new();
        for entry in if_there(&folder, fs::read_dir(&folder))?.into_iter().flatten() {
            let name = entry.map_err(FileError::of(&folder, "read"))?.file_name();
            let number =
                name.to_str().and_then(|name| name.strip_prefix("step-")?.strip_suffix(".jsonl"));
            steps.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        Ok(steps)
    }
}

/// Reads the lines of a file; empty if the file is missing. A torn last line is left out.
fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, FileError> {
    let mut values = Vec::new();
    let Some(file) = if_there(path, open_regular(path))? else { return Ok(values) };
    for line in NumberedLines::new(BufReader::new(file), LONGEST_RECORD_BYTES) {
        let NumberedLine { number, bytes, is_complete } =
            line.map_err(FileError::of(path, "read"))?;
        match serde_json::from_slice(&bytes) {
            Ok(value) => values.push(value),
            Err(_) if !is_complete => break,
            Err(error) => {
                return Err(fault_of_line(path, number, plain_words(&error.to_string())));
            }
        }
    }
    Ok(values)
}

fn fault_of_line(path: &Path, line: usize, problem: String) -> FileError {
    FileError::at(format_args!("{}:{line}", path.display()), problem)
}

/// Formats a small JSON value as words.
fn words(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| format!("{name} {}", words(value));
            fields.iter().map(field).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}
