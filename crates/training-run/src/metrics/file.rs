//! Reader and writer of `metrics.jsonl`, one line per step.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use thiserror::Error;
use whole_file::{LONGEST_LINE_BYTES, NumberedLines, WriteError, open_regular, write_atomically};

use super::StepMetrics;

/// Why metrics cannot be read or written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum MetricsError {
    /// The file cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A line is not a step's metrics.
    #[error("{}:{line}: {problem}, expected an object of numbers with `step`", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Number of the line, counted from 1.
        line: usize,
        /// Description of the fault.
        problem: String,
    },
    /// The file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Appends one line per step and flushes it to disk.
#[derive(Debug)]
pub struct MetricsWriter {
    file: File,
    path: PathBuf,
}

impl MetricsWriter {
    /// Starts a new file.
    ///
    /// # Errors
    ///
    /// [`MetricsError::Write`] if it exists already or cannot be created.
    pub fn create(path: &Path) -> Result<Self, MetricsError> {
        let file = OpenOptions::new().append(true).create_new(true).open(path);
        let file = file.map_err(WriteError::of(path, "create"))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Resumes a file after a checkpoint of `last_step`. A torn last line and the lines of later steps, which will be repeated,
    /// are removed first.
    ///
    /// # Errors
    ///
    /// [`MetricsError`], naming file and line.
    pub fn resume(path: &Path, last_step: u64) -> Result<Self, MetricsError> {
        let mut text = String::new();
        if path.exists() {
            for step in read_metrics(path)? {
                if step.step() <= last_step {
                    text.push_str(&step.to_json_line());
                }
            }
        }
        write_atomically(path, text.as_bytes())?;
        let file = OpenOptions::new().append(true).open(path);
        let file = file.map_err(WriteError::of(path, "open"))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Appends one step and flushes it.
    ///
    /// # Errors
    ///
    /// [`MetricsError::Write`]; the file may then end in a torn line, which every reader here skips.
    pub fn append(&mut self, step: &StepMetrics) -> Result<(), MetricsError> {
        self.file
            .write_all(step.to_json_line().as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(WriteError::of(&self.path, "append to"))?;
        Ok(())
    }
}

/// Reads all complete lines of a `metrics.jsonl`. A last line without its line break was torn by a crash and is left out.
///
/// # Errors
///
/// [`MetricsError`], naming file and line.
pub fn read_metrics(path: &Path) -> Result<Vec<StepMetrics>, MetricsError> {
    let fault = |source| MetricsError::Read { path: path.to_path_buf(), source };
    let reader = BufReader::new(open_regular(path).map_err(fault)?);
    let mut steps = Vec::new();
    for line in NumberedLines::new(reader, LONGEST_LINE_BYTES) {
        let line = line.map_err(fault)?;
        if !line.is_complete {
            break;
        }
        let step = parse_line(&line.bytes).map_err(|problem| MetricsError::Line {
            path: path.to_path_buf(),
            line: line.number,
            problem,
        })?;
        steps.push(step);
    }
    Ok(steps)
}

fn parse_line(line: &[u8]) -> Result<StepMetrics, String> {
    let object: BTreeMap<String, Value> =
        serde_json::from_slice(line).map_err(|error| format!("not a JSON object ({error})"))?;
    let step = object.get("step").and_then(Value::as_u64).ok_or("`step` is not a whole number")?;
    let mut values = BTreeMap::new();
    for (name, value) in object.into_iter().filter(|(name, _)| name != "step") {
        let number = value.as_f64().ok_or_else(|| format!("`{name}` is {value}"))?;
        values.insert(name, number);
    }
    Ok(StepMetrics::from_values(step, values))
}
