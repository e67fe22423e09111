//! Reader and writer of `metrics.jsonl`, one line per step.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};

use serde_json::Value;
use whole_file::{FileError, LONGEST_LINE_BYTES, NumberedLines, open_regular, write_atomically};

use super::StepMetrics;

/// Appends one line per step and flushes it to disk.
#[derive(Debug)]
pub struct MetricsWriter {
    file: File,
    path: PathBuf,
}

impl MetricsWriter {
    /// Starts the file with these rows; others that it has, and a torn last line, are removed.
    ///
    /// # Errors
    ///
    /// A write that failed.
    pub fn begin(path: &Path, rows: &[StepMetrics]) -> Result<Self, FileError> {
        let text: String = rows.iter().map(StepMetrics::to_json_line).collect();
        write_atomically(path, text.as_bytes())?;
        let file = OpenOptions::new().append(true).open(path);
        let file = file.map_err(FileError::of(path, "open"))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Appends one step and flushes it.
    ///
    /// # Errors
    ///
    /// A write that failed; the file may then end in a torn line, which every reader here skips.
    pub fn append(&mut self, step: &StepMetrics) -> Result<(), FileError> {
        self.file
            .write_all(step.to_json_line().as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(FileError::of(&self.path, "append to"))
    }
}

/// Reads all complete lines of a `metrics.jsonl`. A last line without its line break was torn by a crash and is left out.
///
/// # Errors
///
/// [`FileError`], naming file and line.
pub fn read_metrics(path: &Path) -> Result<Vec<StepMetrics>, FileError> {
    let file = open_regular(path).map_err(FileError::of(path, "read"))?;
    let mut steps = Vec::new();
    for line in NumberedLines::new(BufReader::new(file), LONGEST_LINE_BYTES) {
        let line = line.map_err(FileError::of(path, "read"))?;
        if !line.is_complete {
            break;
        }
        let step = parse_line(&line.bytes).map_err(|problem| {
            let place = format!("{}:{}", path.display(), line.number);
            FileError::at(place, format!("{problem}, expected an object of numbers with `step`"))
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
