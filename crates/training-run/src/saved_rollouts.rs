//! Rollouts on disk, with which the updates of a run can be repeated without sampling.
//!
//! One file per step, `step-N.jsonl`: a header, the groups that wait for a later step, then one group per line. It is written
//! atomically.

mod origin;

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use messages::plain_words;
use question_data::question_order::DataCursor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use whole_file::{
    FileError, LONGEST_RECORD_BYTES, NumberedLine, NumberedLines, if_there, open_regular,
    write_atomically_with,
};

pub use origin::{RolloutOrigin, fingerprint, first_difference, weight_files};

use crate::dynamic_sampling::{GroupSampler, SamplingStatistics, StepGroups};
use crate::run_directory::entries;

/// Everything that one step sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedStep<T> {
    /// The step.
    pub step: u64,
    /// Fingerprint of the weights that sampled.
    pub weights: String,
    /// Position in the training data after the step.
    pub cursor: DataCursor,
    /// Groups that the step trained on.
    pub sampled: StepGroups<T>,
    /// Groups left over for later steps.
    pub waiting: GroupSampler<T>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    origin: RolloutOrigin,
    step: u64,
    weights: String,
    cursor: DataCursor,
    statistics: SamplingStatistics,
    groups: usize,
}

/// A folder of rollouts, and the run that they belong to.
#[derive(Debug, Clone)]
pub struct SavedRollouts {
    directory: PathBuf,
    origin: RolloutOrigin,
}

impl SavedRollouts {
    /// Opens a folder for writing; creates it if missing.
    ///
    /// # Errors
    ///
    /// A folder that cannot be created.
    pub fn create(directory: &Path, origin: RolloutOrigin) -> Result<Self, FileError> {
        fs::create_dir_all(directory).map_err(FileError::of(directory, "create the folder"))?;
        Ok(Self { directory: directory.to_path_buf(), origin })
    }

    /// Opens a folder for reading.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read.
    pub fn open(directory: &Path, origin: RolloutOrigin) -> Result<Self, FileError> {
        let files = Self { directory: directory.to_path_buf(), origin };
        files.steps()?;
        Ok(files)
    }

    /// Path of the file of a step.
    pub fn path(&self, step: u64) -> PathBuf {
        self.directory.join(format!("step-{step}.jsonl"))
    }

    /// Writes a step atomically.
    ///
    /// # Errors
    ///
    /// A write that failed.
    pub fn write<T: Serialize>(&self, saved: &SavedStep<T>) -> Result<(), FileError> {
        let StepGroups { groups, statistics } = &saved.sampled;
        let header = Header {
            origin: self.origin.clone(),
            step: saved.step,
            weights: saved.weights.clone(),
            cursor: saved.cursor,
            statistics: statistics.clone(),
            groups: groups.len(),
        };
        write_atomically_with(&self.path(saved.step), |file| {
            let mut out = BufWriter::new(file);
            write_line(&mut out, &header)?;
            write_line(&mut out, &saved.waiting)?;
            for group in groups {
                write_line(&mut out, group)?;
            }
            out.flush()
        })
    }

    /// Reads a step; its model, tokenizer and settings must be those of this run.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming the file, and what is wrong with it.
    pub fn read<T: DeserializeOwned>(&self, step: u64) -> Result<SavedStep<T>, FileError> {
        let path = self.path(step);
        let Some(file) = if_there(&path, open_regular(&path))? else {
            return Err(FileError::content(&self.directory, missing(step, &self.steps()?)));
        };
        let mut lines = Lines {
            path: &path,
            rest: NumberedLines::new(BufReader::new(file), LONGEST_RECORD_BYTES),
            number: 0,
        };
        let header: Header = lines.next()?;
        if let Some(difference) = header.origin.difference(&self.origin) {
            return Err(FileError::content(&path, format!("sampled by another run: {difference}")));
        }
        if header.step != step {
            return Err(lines.fault(&format!("step {}, expected {step}", header.step)));
        }
        let waiting = lines.next()?;
        let groups = (0..header.groups).map(|_| lines.next()).collect::<Result<_, _>>()?;
        if lines.rest.next().is_some() {
            return Err(lines.fault(&format!("more than {} groups", header.groups)));
        }
        let Header { weights, cursor, statistics, .. } = header;
        Ok(SavedStep { step, weights, cursor, sampled: StepGroups { groups, statistics }, waiting })
    }

    /// Lists the steps in the folder, ascending.
    fn steps(&self) -> Result<Vec<u64>, FileError> {
        let number = |path: &PathBuf| -> Option<u64> {
            path.file_name()?.to_str()?.strip_prefix("step-")?.strip_suffix(".jsonl")?.parse().ok()
        };
        let mut steps: Vec<u64> = entries(&self.directory)?.iter().filter_map(number).collect();
        steps.sort_unstable();
        Ok(steps)
    }
}

/// The lack of a step, and the steps that are there, ascending.
fn missing(step: u64, saved: &[u64]) -> String {
    let others = match saved {
        [] => "nor of any other".to_owned(),
        [one] => format!("only of step {one}"),
        [first, .., last] => {
            let count = saved.len();
            format!("expected one of the {count} from step {first} to step {last}")
        }
    };
    format!("no rollout of step {step}, {others}")
}

fn write_line(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, value)?;
    out.write_all(b"\n")
}

struct Lines<'a> {
    path: &'a Path,
    rest: NumberedLines<BufReader<File>>,
    number: usize,
}

impl Lines<'_> {
    fn next<T: DeserializeOwned>(&mut self) -> Result<T, FileError> {
        self.number += 1;
        let text = match self.rest.next() {
            Some(Ok(NumberedLine { number, bytes, .. })) => {
                self.number = number;
                bytes
            }
            Some(Err(error)) => return Err(FileError::of(self.path, "read")(error)),
            None => return Err(self.fault("the file ends here, expected another line")),
        };
        serde_json::from_slice(&text).map_err(|error| self.fault(&plain_words(&error.to_string())))
    }

    fn fault(&self, problem: &str) -> FileError {
        FileError::content(self.path, format!("line {}: {problem}", self.number))
    }
}
