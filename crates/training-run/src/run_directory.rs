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

mod hub_commits;
mod resuming;

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use thiserror::Error;
use whole_file::{
    DirectoryInProgress, FolderLock, LONGEST_TEXT_BYTES, WriteError, read_text_at_most,
    write_atomically,
};

use crate::retention::{Retention, ScoredCheckpoint};

/// Why a run directory cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RunDirectoryError {
    /// The folder holds a run already.
    #[error(
        "{}: already holds a run, expected an empty or new folder (resume it, or choose another name)",
        path.display()
    )]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// The folder holds no run.
    #[error("{}: holds no run, expected a folder with config.toml and checkpoints", path.display())]
    NoRun {
        /// The folder.
        path: PathBuf,
    },
    /// `checkpoints/latest` names a missing checkpoint.
    #[error("{}: is {found:?}, expected the name of a folder beside it, step-N", path.display())]
    Latest {
        /// The file `latest`.
        path: PathBuf,
        /// Its content.
        found: String,
    },
    /// Another process trains the run.
    #[error("{}: another process trains this run, expected one at a time", root.display())]
    InUse {
        /// The folder.
        root: PathBuf,
    },
    /// The run went on after it was decided where to start.
    #[error(
        "{}: another process trained this run meanwhile, up to {}; expected it as it was (start again)",
        root.display(), .latest.map_or_else(|| "no checkpoint".to_owned(), |step| format!("step {step}"))
    )]
    Moved {
        /// The folder.
        root: PathBuf,
        /// Step of its latest checkpoint now.
        latest: Option<u64>,
    },
    /// A file or folder cannot be read.
    #[error("{}: cannot read: {source}", path.display())]
    Read {
        /// The file or folder.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A file or folder cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// Folder of the trainer's own files within a checkpoint.
pub const TRAINER_FOLDER: &str = "trainer";

/// Name of the file, within [`TRAINER_FOLDER`], that makes a folder a checkpoint of a run.
pub const STATE_FILE: &str = "state.json";

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
    /// [`RunDirectoryError::Occupied`] if it holds metrics or checkpoints already, or a write that failed.
    pub fn create(root: &Path) -> Result<Self, RunDirectoryError> {
        let directory = Self { root: root.to_path_buf() };
        // A run that was killed before its configuration was written leaves empty folders.
        let has_checkpoints =
            fs::read_dir(directory.checkpoints()).is_ok_and(|mut found| found.next().is_some());
        if directory.metrics().exists() || has_checkpoints {
            return Err(RunDirectoryError::Occupied { path: root.to_path_buf() });
        }
        for folder in [directory.samples(), directory.checkpoints()] {
            fs::create_dir_all(&folder).map_err(WriteError::of(&folder, "create the folder"))?;
        }
        Ok(directory)
    }

    /// Opens the folder of a run that was started before.
    ///
    /// # Errors
    ///
    /// [`RunDirectoryError::NoRun`].
    pub fn open(root: &Path) -> Result<Self, RunDirectoryError> {
        let directory = Self { root: root.to_path_buf() };
        if directory.checkpoints().is_dir() {
            Ok(directory)
        } else {
            Err(RunDirectoryError::NoRun { path: root.to_path_buf() })
        }
    }

    /// Locks the folder for the one process that trains the run; creates it if it does not exist.
    ///
    /// # Errors
    ///
    /// [`RunDirectoryError::InUse`], or a folder or file that cannot be created.
    pub fn lock(root: &Path) -> Result<FolderLock, RunDirectoryError> {
        fs::create_dir_all(root).map_err(WriteError::of(root, "create the folder"))?;
        let lock = FolderLock::take(root).map_err(WriteError::of(root, "lock"))?;
        lock.ok_or_else(|| RunDirectoryError::InUse { root: root.to_path_buf() })
    }

    /// Checks that `latest` is still the newest checkpoint.
    ///
    /// # Errors
    ///
    /// [`RunDirectoryError::Moved`], or a file `latest` that cannot be read.
    pub fn check_latest(&self, latest: Option<&Checkpoint>) -> Result<(), RunDirectoryError> {
        let now = self.latest_checkpoint()?;
        if now.as_ref() == latest {
            return Ok(());
        }
        let latest = now.map(|checkpoint| checkpoint.step);
        Err(RunDirectoryError::Moved { root: self.root.clone(), latest })
    }

    /// Opens the folder of a run for reading alone: metrics suffice, without checkpoints.
    ///
    /// # Errors
    ///
    /// [`RunDirectoryError::NoRun`].
    pub fn view(root: &Path) -> Result<Self, RunDirectoryError> {
        let directory = Self { root: root.to_path_buf() };
        if directory.metrics().is_file() || directory.checkpoints().is_dir() {
            Ok(directory)
        } else {
            Err(RunDirectoryError::NoRun { path: root.to_path_buf() })
        }
    }

    /// Path of the folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Path of the configuration as the user wrote it.
    pub fn config(&self) -> PathBuf {
        self.root.join("config.toml")
    }

    /// Path of the configuration with every default filled in.
    pub fn resolved(&self) -> PathBuf {
        self.root.join("resolved.json")
    }

    /// Path of the record of commit, versions and device.
    pub fn environment(&self) -> PathBuf {
        self.root.join("environment.json")
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
    pub fn rank_log(&self, rank: usize) -> Result<PathBuf, RunDirectoryError> {
        let folder = self.root.join("logs");
        fs::create_dir_all(&folder).map_err(WriteError::of(&folder, "create the folder"))?;
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
    ) -> Result<(), RunDirectoryError> {
        write_atomically(&self.config(), config_text.as_bytes())?;
        write_atomically(&self.resolved(), &pretty_json(resolved))?;
        write_atomically(&self.environment(), &pretty_json(environment))?;
        Ok(())
    }

    /// Starts the checkpoint after `step` steps; fill the folder, then pass it to [`RunDirectory::finish_checkpoint`].
    ///
    /// # Errors
    ///
    /// A write that failed.
    pub fn begin_checkpoint(&self, step: u64) -> Result<DirectoryInProgress, RunDirectoryError> {
        Ok(DirectoryInProgress::begin(&self.checkpoint(step))?)
    }

    /// Gives the checkpoint its name, points `latest` at it, then removes all that `retention` does not keep; `score` maps
    /// a step to its score.
    ///
    /// # Errors
    ///
    /// A write that failed; `latest` then still names the previous checkpoint.
    pub fn finish_checkpoint(
        &self,
        step: u64,
        folder: DirectoryInProgress,
        retention: Retention,
        score: impl Fn(u64) -> Option<f64>,
    ) -> Result<(), RunDirectoryError> {
        folder.commit()?;
        self.point_latest_at(step)?;
        let mut others = self.list_checkpoints()?;
        others.retain(|checkpoint| checkpoint.step <= step);
        let listing: Vec<ScoredCheckpoint> = others
            .iter()
            .map(|&Checkpoint { step, .. }| ScoredCheckpoint { step, score: score(step) })
            .collect();
        for step in retention.surplus(&listing) {
            let path = self.checkpoint(step);
            fs::remove_dir_all(&path)
                .map_err(WriteError::of(&path, "remove the old checkpoint"))?;
        }
        Ok(())
    }

    /// Returns the checkpoint that `latest` names; `None` before the first.
    ///
    /// # Errors
    ///
    /// A file `latest` that cannot be read or names no checkpoint.
    pub fn latest_checkpoint(&self) -> Result<Option<Checkpoint>, RunDirectoryError> {
        let pointer = self.latest();
        let text = match read_text_at_most(&pointer, LONGEST_TEXT_BYTES) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(RunDirectoryError::Read { path: pointer, source }),
        };
        let name = text.trim();
        let path = self.checkpoints().join(name);
        match step_of(name) {
            Some(step) if path.is_dir() => Ok(Some(Checkpoint { step, path })),
            _ => Err(RunDirectoryError::Latest { path: pointer, found: name.to_owned() }),
        }
    }

    /// Points `latest` at an earlier checkpoint.
    ///
    /// # Errors
    ///
    /// A write that failed.
    pub fn point_latest_at(&self, step: u64) -> Result<(), RunDirectoryError> {
        Ok(write_atomically(&self.latest(), format!("step-{step}\n").as_bytes())?)
    }

    /// Lists all complete checkpoints, by step.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read.
    pub fn list_checkpoints(&self) -> Result<Vec<Checkpoint>, RunDirectoryError> {
        let folder = self.checkpoints();
        let read_error = |source| RunDirectoryError::Read { path: folder.clone(), source };
        let mut checkpoints = Vec::new();
        for entry in fs::read_dir(&folder).map_err(read_error)? {
            let path = entry.map_err(read_error)?.path();
            let step = path.file_name().and_then(|name| name.to_str()).and_then(step_of);
            if let Some(step) = step {
                checkpoints.push(Checkpoint { step, path });
            }
        }
        checkpoints.sort_by_key(|checkpoint| checkpoint.step);
        Ok(checkpoints)
    }
}

fn step_of(name: &str) -> Option<u64> {
    name.strip_prefix("step-")?.parse().ok()
}

fn pretty_json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("plain structs are valid JSON");
    text.push(b'\n');
    text
}
