//! Rollouts on disk, with which the updates of a run can be repeated without sampling.
//!
//! One file per step, `step-N.jsonl`: a header, the groups that wait for a later step, then one group per line. It is written
//! atomically.

mod error;
mod origin;

use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use messages::plain_words;
use question_data::question_order::DataCursor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use whole_file::{
    LONGEST_RECORD_BYTES, NumberedLine, NumberedLines, WriteError, open_regular,
    write_atomically_with,
};

pub use error::SavedRolloutError;
pub use origin::{RolloutOrigin, fingerprint, first_difference, weight_files};

use crate::dynamic_sampling::{GroupSampler, SampledGroup, SamplingStatistics};

/// Everything that one step sampled.
#[derive(Debug, Clone, PartialEq)]
pub struct SavedStep<T> {
    /// The step.
    pub step: u64,
    /// Fingerprint of the weights that sampled.
    pub weights: String,
    /// Position in the training data after the step.
    pub cursor: DataCursor,
    /// Statistics of how the groups were sampled.
    pub statistics: SamplingStatistics,
    /// Groups that the step trained on.
    pub groups: Vec<SampledGroup<T>>,
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
    /// [`SavedRolloutError::Write`]
    pub fn create(directory: &Path, origin: RolloutOrigin) -> Result<Self, SavedRolloutError> {
        fs::create_dir_all(directory).map_err(WriteError::of(directory, "create the folder"))?;
        Ok(Self { directory: directory.to_path_buf(), origin })
    }

    /// Opens a folder for reading.
    ///
    /// # Errors
    ///
    /// [`SavedRolloutError::Read`] if there is none.
    pub fn open(directory: &Path, origin: RolloutOrigin) -> Result<Self, SavedRolloutError> {
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
    /// [`SavedRolloutError::Write`]
    pub fn write<T: Serialize>(&self, saved: &SavedStep<T>) -> Result<(), SavedRolloutError> {
        let header = Header {
            origin: self.origin.clone(),
            step: saved.step,
            weights: saved.weights.clone(),
            cursor: saved.cursor,
            statistics: saved.statistics.clone(),
            groups: saved.groups.len(),
        };
        write_atomically_with(&self.path(saved.step), |file| {
            let mut out = BufWriter::new(file);
            write_line(&mut out, &header)?;
            write_line(&mut out, &saved.waiting)?;
            for group in &saved.groups {
                write_line(&mut out, group)?;
            }
            out.flush()
        })?;
        Ok(())
    }

    /// Reads a step; its model, tokenizer and settings must be those of this run.
    ///
    /// # Errors
    ///
    /// [`SavedRolloutError`], naming the file, and what is wrong with it.
    pub fn read<T: DeserializeOwned>(&self, step: u64) -> Result<SavedStep<T>, SavedRolloutError> {
        let path = self.path(step);
        let file = match open_regular(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let directory = self.directory.clone();
                return Err(SavedRolloutError::Missing { directory, step, saved: self.steps()? });
            }
            Err(source) => return Err(SavedRolloutError::Read { path, source }),
        };
        let mut lines = Lines {
            path: &path,
            rest: NumberedLines::new(BufReader::new(file), LONGEST_RECORD_BYTES),
            number: 0,
        };
        let header: Header = lines.next()?;
        if let Some(difference) = header.origin.difference(&self.origin) {
            return Err(SavedRolloutError::Origin { path, difference });
        }
        if header.step != step {
            return Err(lines.fault(format!("step {}, expected {step}", header.step)));
        }
        let waiting = lines.next()?;
        let groups = (0..header.groups).map(|_| lines.next()).collect::<Result<_, _>>()?;
        if lines.rest.next().is_some() {
            return Err(lines.fault(format!("more than {} groups", header.groups)));
        }
        let Header { weights, cursor, statistics, .. } = header;
        Ok(SavedStep { step, weights, cursor, statistics, groups, waiting })
    }

    /// Lists the steps in the folder, ascending.
    fn steps(&self) -> Result<Vec<u64>, SavedRolloutError> {
        let fault = |source| SavedRolloutError::Read { path: self.directory.clone(), source };
        let mut steps = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(fault)? {
            let name = entry.map_err(fault)?.file_name();
            let number =
                name.to_str().and_then(|name| name.strip_prefix("step-")?.strip_suffix(".jsonl"));
            steps.extend(number.and_then(|number| number.parse::<u64>().ok()));
        }
        steps.sort_unstable();
        Ok(steps)
    }
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
    fn next<T: DeserializeOwned>(&mut self) -> Result<T, SavedRolloutError> {
        self.number += 1;
        let text = match self.rest.next() {
            Some(Ok(NumberedLine { number, bytes, .. })) => {
                self.number = number;
                bytes
            }
            Some(Err(source)) => {
                return Err(SavedRolloutError::Read { path: self.path.to_path_buf(), source });
            }
            None => return Err(self.fault("the file ends here, expected another line".to_owned())),
        };
        serde_json::from_slice(&text).map_err(|error| self.fault(plain_words(&error.to_string())))
    }

    fn fault(&self, problem: String) -> SavedRolloutError {
        SavedRolloutError::Malformed { path: self.path.to_path_buf(), line: self.number, problem }
    }
}
