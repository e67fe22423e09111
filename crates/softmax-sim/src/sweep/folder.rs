//! The folder of a sweep: its configuration and one file of results per shard.

use super::SweepError;
use super::cell::CellResult;
use super::plan::Plan;
use super::shard::Shard;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::Write;
use std::path::{Path, PathBuf};
use whole_file::{FileError, sync_folder, write_new};

const CONFIGURATION: &str = "sweep.toml";

/// One line of a shard's file.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Key of the cell.
    pub key: String,
    /// Result of the cell.
    pub outcome: CellResult,
}

/// Contents of the files of all shards.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Contents {
    /// The results of each file.
    pub files: Vec<(PathBuf, Vec<Record>)>,
    /// Complete lines that are not results, by place and reason. Their cells count as not computed.
    pub damaged: Vec<String>,
}

/// The folder of a sweep.
#[derive(Debug, Clone, PartialEq)]
pub struct Folder {
    /// The folder itself.
    pub path: PathBuf,
}

/// A shard's file, locked by this process until it ends.
#[derive(Debug)]
pub(super) struct ShardFile {
    path: PathBuf,
    file: File,
}

impl Drop for ShardFile {
    // A child process that another thread starts holds the file, too, until it runs its own program.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Folder {
    /// The folder of `plan`, made if it is not there; `text` is the configuration.
    ///
    /// # Errors
    ///
    /// [`SweepError`] if the folder holds other cells than those of `plan`.
    pub fn open(path: &Path, text: &str, plan: &Plan) -> Result<Self, SweepError> {
        let folder = Self { path: path.to_owned() };
        fs::create_dir_all(path).map_err(FileError::of(path, "make"))?;
        // As a whole, so that no process ever reads half of it.
        if write_new(&folder.configuration_path(), text.as_bytes())? {
            return Ok(folder);
        }
        let held = folder.plan()?;
        let keys: HashSet<&str> = plan.cells.iter().map(|cell| cell.key.as_str()).collect();
        let missing = held.cells.iter().filter(|cell| !keys.contains(cell.key.as_str())).count();
        let (held, cells) = (held.cells.len(), plan.cells.len());
        if missing > 0 || held != cells {
            return Err(SweepError(format!(
                "{} holds another sweep: {missing} of its {held} cells are not in this one, which has {cells}; expected \
                 the same cells, or another folder",
                path.display()
            )));
        }
        Ok(folder)
    }

    /// The sweep that was begun here.
    ///
    /// # Errors
    ///
    /// [`SweepError`] if its configuration cannot be read.
    pub fn plan(&self) -> Result<Plan, SweepError> {
        let path = self.configuration_path();
        let text = fs::read_to_string(&path).map_err(FileError::of(&path, "read"))?;
        Plan::read(&text).map_err(|error| SweepError(format!("{}: {error}", path.display())))
    }

    /// All results in the files of all shards, file by file in the order of their names.
    ///
    /// A line without its end is left out: it was cut off, or is being written. A damaged line affects no other.
    ///
    /// # Errors
    ///
    /// [`SweepError`] if a file cannot be read.
    pub fn contents(&self) -> Result<Contents, SweepError> {
        let mut paths = Vec::new();
        for entry in fs::read_dir(&self.path).map_err(FileError::of(&self.path, "read"))? {
            let path = entry.map_err(FileError::of(&self.path, "read"))?.path();
            let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
            let is_lines = path.extension().is_some_and(|extension| extension == "jsonl");
            if name.starts_with("shard-") && is_lines {
                paths.push(path);
            }
        }
        paths.sort();
        let mut contents = Contents::default();
        for path in paths {
            let records = read_records(&path, &mut contents.damaged)?;
            contents.files.push((path, records));
        }
        Ok(contents)
    }

    /// Opens the file of a shard to append to, without the line that was cut off, if there is one.
    pub(super) fn shard_file(&self, shard: Shard) -> Result<ShardFile, SweepError> {
        let Shard { index, count } = shard;
        let digits = count.to_string().len();
        let name = format!("shard-{index:0digits$}-of-{count}.jsonl");
        let path = self.path.join(name);
        let open = OpenOptions::new().read(true).append(true).create(true).open(&path);
        let file = open.map_err(FileError::of(&path, "open"))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let expected = "expected one process for a shard";
                let message = format!("is being written by another process: {expected}");
                return Err(SweepError(format!("{} {message}", path.display())));
            }
            Err(TryLockError::Error(error)) => {
                return Err(FileError::of(&path, "lock")(error).into());
            }
        }
        let text = fs::read(&path).map_err(FileError::of(&path, "read"))?;
        let length = whole_lines(&text).len() as u64;
        if length < text.len() as u64 {
            file.set_len(length).map_err(FileError::of(&path, "shorten"))?;
        }
        // The file's name must outlive a crash of the machine as its lines do.
        sync_folder(&self.path).map_err(FileError::of(&self.path, "sync"))?;
        Ok(ShardFile { path, file })
    }

    fn configuration_path(&self) -> PathBuf {
        self.path.join(CONFIGURATION)
    }
}

impl ShardFile {
    /// Appends the records in one write and waits until they are on the disk.
    pub(super) fn append(&mut self, records: &[Record]) -> Result<(), SweepError> {
        let mut lines = Vec::new();
        for record in records {
            serde_json::to_writer(&mut lines, record).expect("a result goes into JSON");
            lines.push(b'\n');
        }
        let appended = self.file.write_all(&lines).and_then(|()| self.file.sync_data());
        Ok(appended.map_err(FileError::of(&self.path, "write"))?)
    }
}

/// Reads the results of a file; lines that are not results go to `damaged`.
fn read_records(path: &Path, damaged: &mut Vec<String>) -> Result<Vec<Record>, SweepError> {
    let text = fs::read(path).map_err(FileError::of(path, "read"))?;
    let mut records = Vec::new();
    for (index, line) in whole_lines(&text).split_inclusive(|byte| *byte == b'\n').enumerate() {
        match serde_json::from_slice(line) {
            Ok(record) => records.push(record),
            Err(error) => {
                let text = error.to_string();
                let reason = &text[..text.rfind(" at line ").unwrap_or(text.len())];
                damaged.push(format!(
                    "{} line {}: no result of a cell ({reason}); expected {{\"key\": …, \"outcome\": …}}",
                    path.display(),
                    index + 1,
                ));
            }
        }
    }
    Ok(records)
}

/// The text up to its last line break.
fn whole_lines(text: &[u8]) -> &[u8] {
    let end = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    &text[..end]
}
