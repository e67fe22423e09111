//! The directory of one evaluation.
//!
//! ```text
//! settings.json      everything that decides what is sampled, written first
//! samples/SET.jsonl  one response a line, problem after problem, as they come
//! results.json       settings, measures and intervals, written when all is done
//! table.md           the same for people
//! ```

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use messages::plain_words;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use training_run::run_directory::pretty_json;
use training_run::saved_rollouts::first_difference;
use whole_file::{FileError, FolderLock, write_atomically};
use whole_file::{LONGEST_RECORD_BYTES, LONGEST_TEXT_BYTES};
use whole_file::{if_there, open_regular, read_text_at_most};

use super::bootstrap::Estimate;
use super::measures::SetResult;
use super::response::Response;

/// Version of the files.
const FORMAT: u32 = 1;

/// The fault of a folder without a finished evaluation.
pub(crate) fn unfinished(root: &Path) -> FileError {
    FileError::content(root, "holds no finished evaluation, expected results.json")
}

/// A finished evaluation: `results.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Results {
    /// Version of the file.
    pub format: u32,
    /// Settings of the evaluation, as in `settings.json`.
    pub settings: Value,
    /// Results of the sets, in the order they were asked for.
    pub sets: Vec<SetResult>,
    /// Plain mean of the sets' avg@n, each set with the same weight.
    pub plain_mean: Estimate,
}

impl Results {
    /// Makes results with these settings.
    pub fn new(settings: Value, sets: Vec<SetResult>, plain_mean: Estimate) -> Self {
        Self { format: FORMAT, settings, sets, plain_mean }
    }

    /// Finds a set by name.
    pub fn set(&self, name: &str) -> Option<&SetResult> {
        self.sets.iter().find(|set| set.name == name)
    }
}

/// The folder of one evaluation.
#[derive(Debug)]
pub struct ResultsFolder {
    root: PathBuf,
    /// Lock held while writing.
    _lock: Option<FolderLock>,
}

impl ResultsFolder {
    /// Creates the folder, or resumes in it if it holds the same settings, and locks it against other writers.
    ///
    /// # Errors
    ///
    /// [`FileError`]: the settings are others, another process writes there, or a file cannot be read or written.
    pub fn begin(root: &Path, settings: &Value) -> Result<Self, FileError> {
        let samples = root.join("samples");
        fs::create_dir_all(&samples).map_err(FileError::of(&samples, "create the folder"))?;
        let lock = FolderLock::take(root).map_err(FileError::of(root, "lock"))?;
        let problem = "another process evaluates into it, expected one at a time";
        let lock = lock.ok_or_else(|| FileError::content(root, problem))?;
        let folder = Self { root: root.to_path_buf(), _lock: Some(lock) };
        let path = root.join("settings.json");
        if path.exists() {
            let earlier: Value = read_json(&path)?;
            return match first_difference("", &earlier, settings) {
                None => Ok(folder),
                Some(difference) => Err(FileError::content(
                    root,
                    format!(
                        "holds an evaluation with other settings, expected the same (choose another --output, or remove the \
                         folder): {difference}"
                    ),
                )),
            };
        }
        write_atomically(&path, &pretty_json(settings))?;
        Ok(folder)
    }

    /// Opens the folder of a finished evaluation, and reads its results.
    ///
    /// # Errors
    ///
    /// [`FileError`]: it is not finished, or the results cannot be read.
    pub fn open(root: &Path) -> Result<(Self, Results), FileError> {
        let folder = Self { root: root.to_path_buf(), _lock: None };
        let results = folder.results()?.ok_or_else(|| unfinished(root))?;
        Ok((folder, results))
    }

    /// Path of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Path of the table for people.
    pub fn table(&self) -> PathBuf {
        self.root.join("table.md")
    }

    fn results_file(&self) -> PathBuf {
        self.root.join("results.json")
    }

    fn set_file(&self, set: &str) -> PathBuf {
        self.root.join("samples").join(format!("{set}.jsonl"))
    }

    /// Reads the results; `None` if the evaluation is not finished.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming the file.
    pub fn results(&self) -> Result<Option<Results>, FileError> {
        let path = self.results_file();
        if !path.exists() {
            return Ok(None);
        }
        let results: Results = read_json(&path)?;
        if results.format != FORMAT {
            let problem = format!("format is {}, expected {FORMAT}", results.format);
            return Err(FileError::content(&path, problem));
        }
        Ok(Some(results))
    }

    /// Reads the responses to a set so far, in full groups of problems. An incomplete group at the end is cut off the file.
    ///
    /// `group` is the number of problems that are sampled together, `problems` their number in the set.
    ///
    /// # Errors
    ///
    /// [`FileError`], also if the lines are not those of this evaluation.
    pub fn responses(
        &self,
        set: &str,
        samples: usize,
        group: usize,
        problems: usize,
    ) -> Result<Vec<Response>, FileError> {
        let path = self.set_file(set);
        let (mut responses, ends) = read_lines(&path, samples)?;
        let answered = responses.len() / samples;
        let kept = if answered >= problems { problems } else { answered / group * group } * samples;
        if kept < responses.len() || ends.last().is_some_and(|end| *end < length(&path)) {
            responses.truncate(kept);
            let end = kept.checked_sub(1).map_or(0, |last| ends[last]);
            let cut = || File::options().write(true).open(&path)?.set_len(end);
            cut().map_err(FileError::of(&path, "cut"))?;
        }
        Ok(responses)
    }

    /// Appends responses to a set's file, and syncs it to disk.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    ///
    /// # Panics
    ///
    /// If a response cannot be serialised: a bug in its type.
    pub fn append(&self, set: &str, responses: &[Response]) -> Result<(), FileError> {
        let path = self.set_file(set);
        let mut lines = Vec::new();
        for response in responses {
            serde_json::to_writer(&mut lines, response).expect("a response is JSON");
            lines.push(b'\n');
        }
        let write = || {
            let mut file = File::options().create(true).append(true).open(&path)?;
            file.write_all(&lines)?;
            file.sync_all()
        };
        write().map_err(FileError::of(&path, "write"))
    }

    /// Writes the table, then the results, each atomically. The results mark the evaluation as finished.
    ///
    /// # Errors
    ///
    /// [`FileError`].
    pub fn finish(&self, results: &Results, table: &str) -> Result<(), FileError> {
        write_atomically(&self.table(), table.as_bytes())?;
        write_atomically(&self.results_file(), &pretty_json(results))
    }
}

/// Reads the responses of a file and the offset at which each ends. A torn last line is left out; a missing file is empty.
fn read_lines(path: &Path, samples: usize) -> Result<(Vec<Response>, Vec<u64>), FileError> {
    let (mut responses, mut ends, mut line, mut end) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let Some(file) = if_there(path, open_regular(path))? else { return Ok((responses, ends)) };
    let mut reader = BufReader::new(file);
    loop {
        line.clear();
        let mut rest = reader.by_ref().take(LONGEST_RECORD_BYTES as u64);
        end += rest.read_until(b'\n', &mut line).map_err(FileError::of(path, "read"))? as u64;
        if line.last() != Some(&b'\n') {
            return Ok((responses, ends));
        }
        let index = responses.len();
        let malformed =
            |problem: String| FileError::content(path, format!("line {}: {problem}", index + 1));
        let response: Response = serde_json::from_slice(&line)
            .map_err(|error| malformed(plain_words(&error.to_string())))?;
        let expected = (index / samples, index % samples);
        if (response.problem, response.sample) != expected {
            let (problem, sample) = expected;
            let actual = format!("problem {} sample {}", response.problem, response.sample);
            return Err(malformed(format!("{actual}, expected problem {problem} sample {sample}")));
        }
        responses.push(response);
        ends.push(end);
    }
}

fn length(path: &Path) -> u64 {
    fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, FileError> {
    let text = read_text_at_most(path, LONGEST_TEXT_BYTES).map_err(FileError::of(path, "read"))?;
    serde_json::from_str(&text)
        .map_err(|error| FileError::content(path, plain_words(&error.to_string())))
}
