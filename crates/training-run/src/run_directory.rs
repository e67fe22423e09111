//! The folder of one run, `runs/NAME`.
//!
//! ```text
//! config.toml       every field, as TOML          metrics.jsonl       one object a step
//! resolved.json     every field with its value    samples/step-N.jsonl
//! environment.json  commit, versions, device      checkpoints/step-N/ Hugging Face folder + trainer/
//! report.html                                     samples/step-N.tokens.jsonl  some of them token by token
//! events/           the metrics for TensorBoard   checkpoints/latest  name of the last whole one
//! logs/rank-N.log   what the ranks beside the first had to say
//! hub.json          commits of the names of the hub, if the configuration has any
//! changes.jsonl     fields that the run went on with otherwise than before
//! ```

mod resuming;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;
use whole_file::{
    DirectoryInProgress, FileError, FolderLock, LONGEST_TEXT_BYTES, if_there, read_at_most,
    read_text_at_most, write_atomically,
};

use crate::config::{CheckpointSection, Commits};
use crate::metrics::read_metrics;
use crate::retention::{scores, surplus};

/// Folder of the trainer's own files within a checkpoint.
pub const TRAINER_FOLDER: &str = "trainer";

/// Name, within a checkpoint, of a file in [`TRAINER_FOLDER`].
pub fn trainer_file(name: &str) -> String {
    format!("{TRAINER_FOLDER}/{name}")
}

/// Name of the file, within [`TRAINER_FOLDER`], that makes a folder a checkpoint of a run.
pub const STATE_FILE: &str = "state.json";

/// Name of the record of the hub's commits.
const HUB_FILE: &str = "hub.json";

/// A checkpoint on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Training steps done when it was taken.
    pub step: u64,
    /// Path of its folder.
    pub path: PathBuf,
}

/// The folder of one run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunDirectory {
    root: PathBuf,
}

impl RunDirectory {
    /// Creates the folder for a new run.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it holds metrics or checkpoints already, or a write that failed.
    pub fn create(root: &Path) -> Result<Self, FileError> {
        let directory = Self { root: root.to_path_buf() };
        // A run that was killed before its configuration was written leaves empty folders.
        let has_checkpoints =
            fs::read_dir(directory.checkpoints()).is_ok_and(|mut found| found.next().is_some());
        if directory.metrics().exists() || has_checkpoints {
            let problem = "already holds a run, expected an empty or new folder (resume it, or choose another name)";
            return Err(FileError::content(root, problem));
        }
        for folder in [directory.samples(), directory.checkpoints()] {
            fs::create_dir_all(&folder).map_err(FileError::of(&folder, "create the folder"))?;
        }
        Ok(directory)
    }

    /// Opens the folder of a run that was started before.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it holds none.
    pub fn open(root: &Path) -> Result<Self, FileError> {
        let directory = Self { root: root.to_path_buf() };
        if directory.checkpoints().is_dir() { Ok(directory) } else { Err(no_run(root)) }
    }

    /// Locks the folder for the one process that trains the run; creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// [`FileError`] if another process trains it, or a folder or file cannot be created.
    pub fn lock(root: &Path) -> Result<FolderLock, FileError> {
        fs::create_dir_all(root).map_err(FileError::of(root, "create the folder"))?;
        let lock = FolderLock::take(root).map_err(FileError::of(root, "lock"))?;
        let problem = "another process trains this run, expected one at a time";
        lock.ok_or_else(|| FileError::content(root, problem))
    }

    /// Checks that `latest` is still the newest checkpoint.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it is not, or a file `latest` that cannot be read.
    pub fn check_latest(&self, latest: Option<&Checkpoint>) -> Result<(), FileError> {
        let now = self.latest_checkpoint()?;
        if now.as_ref() == latest {
            return Ok(());
        }
        let latest =
            now.map_or_else(|| "no checkpoint".to_owned(), |now| format!("step {}", now.step));
        let problem = format!(
            "another process trained this run meanwhile, up to {latest}; expected it as it was (start again)"
        );
        Err(FileError::content(&self.root, problem))
    }

    /// Opens the folder of a run for reading alone: metrics suffice, without checkpoints.
    ///
    /// # Errors
    ///
    /// [`FileError`] if it holds none.
    pub fn view(root: &Path) -> Result<Self, FileError> {
        let directory = Self { root: root.to_path_buf() };
        let is_run = directory.metrics().is_file() || directory.checkpoints().is_dir();
        if is_run { Ok(directory) } else { Err(no_run(root)) }
    }

    /// Path of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Path of the configuration as the user wrote it.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// Path of the metrics, one JSON object per step.
    pub fn metrics(&self) -> PathBuf {
        self.root.join("metrics.jsonl")
    }

    /// Path of the report.
    pub fn report(&self) -> PathBuf {
        self.root.join("report.html")
    }

    /// Path of the responses of one step, one JSON object per line.
    pub fn step_samples(&self, step: u64) -> PathBuf {
        self.samples().join(format!("step-{step}.jsonl"))
    }

    /// Path of the tokens of some responses of one step, one response per line.
    pub fn step_tokens(&self, step: u64) -> PathBuf {
        self.samples().join(format!("step-{step}.tokens.jsonl"))
    }

    /// Path of the metrics for TensorBoard, which would take a folder named `…tfevents…` for a file.
    pub fn events(&self) -> PathBuf {
        self.root.join("events")
    }

    /// Path of the checkpoint after `step` steps.
    pub fn checkpoint(&self, step: u64) -> PathBuf {
        self.checkpoints().join(format!("step-{step}"))
    }

    /// Path of the log of rank `rank`, other than the first; creates its folder.
    ///
    /// # Errors
    ///
    /// A folder that cannot be created.
    pub fn rank_log(&self, rank: usize) -> Result<PathBuf, FileError> {
        let folder = self.root.join("logs");
        fs::create_dir_all(&folder).map_err(FileError::of(&folder, "create the folder"))?;
        Ok(folder.join(format!("rank-{rank}.log")))
    }

    fn samples(&self) -> PathBuf {
        self.root.join("samples")
    }

    fn checkpoints(&self) -> PathBuf {
        self.root.join("checkpoints")
    }

    fn latest(&self) -> PathBuf {
        self.checkpoints().join("latest")
    }

    /// Writes the configuration as written and as resolved, and the environment.
    ///
    /// # Errors
    ///
    /// A write that failed.
    ///
    /// # Panics
    ///
    /// If a value cannot be serialised to JSON: a bug in its type.
    pub fn write_description(
        &self,
        config_text: &str,
        resolved: &impl Serialize,
        environment: &impl Serialize,
    ) -> Result<(), FileError> {
        self.write_configuration(config_text, resolved)?;
        write_atomically(&self.root.join("environment.json"), &pretty_json(environment))
    }

    fn write_configuration(&self, text: &str, resolved: &impl Serialize) -> Result<(), FileError> {
        write_atomically(&self.config(), text.as_bytes())?;
        write_atomically(&self.root.join("resolved.json"), &pretty_json(resolved))
    }

    /// Writes the commits, if there are any.
    ///
    /// # Errors
    ///
    /// A write that failed.
    pub fn write_commits(&self, commits: &Commits) -> Result<(), FileError> {
        if commits.is_empty() {
            return Ok(());
        }
        write_atomically(&self.root.join(HUB_FILE), &pretty_json(commits))
    }

    /// Reads the commits that a folder's run started with; none if it has no names of the hub, or is no run.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn recorded_commits(root: &Path) -> Result<Commits, FileError> {
        let path = root.join(HUB_FILE);
        let Some(bytes) = if_there(&path, read_at_most(&path, LONGEST_TEXT_BYTES))? else {
            return Ok(Commits::new());
        };
        serde_json::from_slice(&bytes).map_err(|error| FileError::of(&path, "read")(error.into()))
    }

    /// Starts the checkpoint after `step` steps; fill the folder, then pass it to [`RunDirectory::finish_checkpoint`].
    ///
    /// # Errors
    ///
    /// A write that failed.
    pub fn begin_checkpoint(&self, step: u64) -> Result<DirectoryInProgress, FileError> {
        DirectoryInProgress::begin(&self.checkpoint(step))
    }

    /// Gives the checkpoint its name, points `latest` at it, then removes all that `rules` do not keep.
    ///
    /// # Errors
    ///
    /// Metrics that cannot be read where `rules` need them, or a write that failed; `latest` then still names the previous
    /// checkpoint.
    pub fn finish_checkpoint(
        &self,
        step: u64,
        folder: DirectoryInProgress,
        rules: &CheckpointSection,
    ) -> Result<(), FileError> {
        let scores = match rules.keep_best {
            0 => BTreeMap::new(),
            _ => scores(&read_metrics(&self.metrics())?, &rules.best_metric),
        };
        folder.commit()?;
        self.point_latest_at(step)?;
        let steps = self.list_checkpoints()?.into_iter().map(|checkpoint| checkpoint.step);
        let steps = steps.filter(|other| *other <= step);
        let checkpoints: Vec<_> = steps.map(|step| (step, scores.get(&step).copied())).collect();
        for step in surplus(rules, &checkpoints) {
            let path = self.checkpoint(step);
            fs::remove_dir_all(&path).map_err(FileError::of(&path, "remove the old checkpoint"))?;
        }
        Ok(())
    }

    /// Returns the checkpoint that `latest` names; `None` before the first.
    ///
    /// # Errors
    ///
    /// A file `latest` that cannot be read or names no checkpoint.
    pub fn latest_checkpoint(&self) -> Result<Option<Checkpoint>, FileError> {
        let Some(name) = self.latest_name()? else { return Ok(None) };
        let path = self.checkpoints().join(&name);
        match step_of(&name) {
            Some(step) if path.is_dir() => Ok(Some(Checkpoint { step, path })),
            _ => {
                let problem =
                    format!("is {name:?}, expected the name of a folder beside it, step-N");
                Err(FileError::content(&self.latest(), problem))
            }
        }
    }

    /// The name that `latest` holds; `None` before the first checkpoint.
    fn latest_name(&self) -> Result<Option<String>, FileError> {
        let pointer = self.latest();
        let text = if_there(&pointer, read_text_at_most(&pointer, LONGEST_TEXT_BYTES))?;
        Ok(text.map(|text| text.trim().to_owned()))
    }

    /// Points `latest` at an earlier checkpoint.
    ///
    /// # Errors
    ///
    /// A write that failed.
    pub fn point_latest_at(&self, step: u64) -> Result<(), FileError> {
        write_atomically(&self.latest(), format!("step-{step}\n").as_bytes())
    }

    /// Lists all complete checkpoints, by step.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read.
    pub fn list_checkpoints(&self) -> Result<Vec<Checkpoint>, FileError> {
        let checkpoint =
            |path: PathBuf| Some(Checkpoint { step: step_of(file_name(&path))?, path });
        let mut checkpoints: Vec<Checkpoint> =
            entries(&self.checkpoints())?.into_iter().filter_map(checkpoint).collect();
        checkpoints.sort_by_key(|checkpoint| checkpoint.step);
        Ok(checkpoints)
    }
}

/// Lists the paths in a folder, in no order.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let entries = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>());
    entries.map_err(FileError::of(folder, "read"))
}

fn step_of(name: &str) -> Option<u64> {
    name.strip_prefix("step-")?.parse().ok()
}

/// Name of a file or folder; empty if it is not UTF-8.
fn file_name(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn no_run(root: &Path) -> FileError {
    FileError::content(root, "holds no run, expected a folder with config.toml and checkpoints")
}

/// A file of JSON, indented.
///
/// # Panics
///
/// If a value cannot be serialised: a bug in its type.
pub fn pretty_json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain structs are valid JSON");
    text.push(b'\n');
    text
}
