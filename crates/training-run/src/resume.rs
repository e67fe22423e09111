//! Decides where a run starts: anew, after its latest checkpoint, or after a given one.

mod changes;

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use whole_file::{FileError, LONGEST_TEXT_BYTES, read_at_most, read_text_at_most};

use crate::config::{Commits, Run};
use crate::manifest::Checked;
use crate::metrics::{StepMetrics, read_metrics};
use crate::run_directory::{Checkpoint, RunDirectory, STATE_FILE, trainer_file};

pub use changes::Change;

/// Value of `--resume`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Resume {
    /// Continue the run in the folder if there is one, else start it.
    #[default]
    Auto,
    /// Start a new run; fail if the folder holds a run.
    Never,
    /// Continue after a checkpoint, `step-N`, or after the latest in a run's folder.
    From(PathBuf),
}

impl FromStr for Resume {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text {
            "auto" => Self::Auto,
            "never" => Self::Never,
            path => Self::From(PathBuf::from(path)),
        })
    }
}

impl Display for Resume {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => out.write_str("auto"),
            Self::Never => out.write_str("never"),
            Self::From(path) => path.display().fmt(out),
        }
    }
}

/// Place where a run starts, decided from `--resume` and the folders.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A new run in a folder that does not exist yet.
    New,
    /// The run in this folder; from its beginning if it has no checkpoint yet.
    GoOn(RunDirectory, Option<Checkpoint>),
    /// The run in this folder, from one of its checkpoints, which becomes the latest.
    Rewind(RunDirectory, Checkpoint),
    /// A new run, from a checkpoint of another run.
    Branch(Checkpoint),
}

impl Origin {
    /// The checkpoint after which the run continues.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        match self {
            Self::New => None,
            Self::GoOn(_, checkpoint) => checkpoint.as_ref(),
            Self::Rewind(_, checkpoint) | Self::Branch(checkpoint) => Some(checkpoint),
        }
    }
}

/// Decision where a run starts, with notes for the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Start {
    /// Place where the run starts.
    pub origin: Origin,
    /// Notes on the decision, such as checkpoints skipped because they are damaged; one sentence each.
    pub notes: Vec<String>,
    /// Fields whose value changes for the run in the folder.
    pub changes: Vec<Change>,
}

/// Decides where a run of folder `root` and configuration `resolved` (the text of its `config.toml`) starts. Among the run's own
/// checkpoints it takes the newest undamaged one, verified by `check`: [`manifest::check`](crate::manifest::check), or several processes share that work. A
/// checkpoint that is named is taken, or refused if it is damaged.
///
/// # Errors
///
/// [`FileError`], which describes the fault, or the error of `check`.
pub fn origin<E: From<FileError>>(
    root: &Path,
    resolved: &str,
    resume: &Resume,
    mut check: impl FnMut(&Checkpoint) -> Result<Checked, E>,
) -> Result<Start, E> {
    let (mut notes, mut changes) = (Vec::new(), Vec::new());
    let begun = root.join("config.toml").exists();
    let named = match resume {
        Resume::From(path) => Some(find_checkpoint(path)?),
        Resume::Auto | Resume::Never => None,
    };
    let directory = if begun {
        let directory = RunDirectory::open(root)?;
        let is_own = |named: &Checkpoint| lies_in(&named.path, root);
        if *resume == Resume::Never || named.as_ref().is_some_and(|named| !is_own(named)) {
            let latest = directory.latest_checkpoint().ok().flatten();
            let checkpoint = latest.map_or_else(String::new, |latest| {
                format!(" with a checkpoint of step {}", latest.step)
            });
            let problem = format!(
                "holds a run{checkpoint}, expected none with --resume {resume} (remove the folder, or choose another `name`)"
            );
            return Err(FileError::content(root, problem).into());
        }
        changes = changes_of(&directory, resolved)?;
        Some(directory)
    } else {
        None
    };
    let origin = match (directory, named) {
        (None, None) => Origin::New,
        (Some(directory), None) => newest_complete(directory, &mut notes, check)?,
        (directory, Some(named)) => {
            match check(&named)? {
                Checked::Damaged(damage) => {
                    let problem = format!(
                        "damaged: {}; expected the files as they were written (--resume auto takes the newest checkpoint of a \
                         run that is whole)",
                        damage.join("; ")
                    );
                    return Err(FileError::content(&named.path, problem).into());
                }
                Checked::Unknown => notes.push(unchecked(&named)),
                Checked::Whole => {}
            }
            match directory {
                Some(directory) => Origin::Rewind(directory, named),
                None => Origin::Branch(named),
            }
        }
    };
    if let Origin::GoOn(directory, Some(checkpoint)) | Origin::Rewind(directory, checkpoint) =
        &origin
    {
        check_rows(&directory.metrics(), checkpoint.step)?;
    }
    Ok(Start { origin, notes, changes })
}

/// Returns the commits with which the run in the folder of `run` started, or the run whose checkpoint `resume` names; none of a
/// new run.
///
/// # Errors
///
/// A record that cannot be read.
pub fn recorded_commits(run: &Run, resume: &Resume) -> Result<Commits, FileError> {
    let root = run.output_directory();
    if root.join("config.toml").exists() {
        return RunDirectory::recorded_commits(&root);
    }
    let Resume::From(path) = resume else { return Ok(Commits::new()) };
    let of_checkpoint = path.parent().and_then(Path::parent);
    let is_run = |root: &&Path| root.join("config.toml").exists();
    match [Some(path.as_path()), of_checkpoint].into_iter().flatten().find(is_run) {
        Some(root) => RunDirectory::recorded_commits(root),
        None => Ok(Commits::new()),
    }
}

/// Refuses metrics that end before `step`: a second process wrote them, or an edit cut them.
fn check_rows(path: &Path, step: u64) -> Result<(), FileError> {
    if !path.exists() {
        return Ok(());
    }
    let ends = read_metrics(path)?.last().map_or(0, StepMetrics::step);
    if ends < step {
        let problem = format!(
            "ends with step {ends}, before the checkpoint of step {step}; expected a row for every step (--resume takes an \
             earlier checkpoint, or this one under another `name`)"
        );
        return Err(FileError::content(path, problem));
    }
    Ok(())
}

/// Returns the run in its folder, from the newest undamaged checkpoint.
fn newest_complete<E: From<FileError>>(
    directory: RunDirectory,
    notes: &mut Vec<String>,
    mut check: impl FnMut(&Checkpoint) -> Result<Checked, E>,
) -> Result<Origin, E> {
    let (checkpoints, fault) = directory.resumable()?;
    let latest = directory.latest_checkpoint().ok().flatten();
    let had_any = !checkpoints.is_empty() || fault.is_some();
    notes.extend(fault.map(|fault| fault.to_string()));
    for checkpoint in checkpoints {
        match check(&checkpoint)? {
            Checked::Damaged(damage) => {
                let (step, damage) = (checkpoint.step, damage.join("; "));
                notes.push(format!("the checkpoint of step {step} is damaged: {damage}"));
                continue;
            }
            Checked::Unknown => notes.push(unchecked(&checkpoint)),
            Checked::Whole => {}
        }
        return Ok(if latest.as_ref() == Some(&checkpoint) {
            Origin::GoOn(directory, Some(checkpoint))
        } else {
            Origin::Rewind(directory, checkpoint)
        });
    }
    if had_any {
        let damage = notes.join("; ");
        let problem = format!(
            "no checkpoint is whole: {damage}; expected one (remove the folder to begin again)"
        );
        return Err(FileError::content(directory.root(), problem).into());
    }
    Ok(Origin::GoOn(directory, None))
}

fn unchecked(checkpoint: &Checkpoint) -> String {
    let step = checkpoint.step;
    format!("the checkpoint of step {step} was written without checksums, and is not checked")
}

/// Lists the fields that change for the run in the folder.
fn changes_of(directory: &RunDirectory, resolved: &str) -> Result<Vec<Change>, FileError> {
    let path = directory.config();
    let table = |text: &str| {
        text.parse::<toml::Table>().map_err(|error| {
            let problem = format!("{}, expected the configuration of a run", error.message());
            FileError::content(&path, problem)
        })
    };
    let text = read_text_at_most(&path, LONGEST_TEXT_BYTES);
    let before = table(&text.map_err(FileError::of(&path, "read"))?)?;
    let (changes, refused) = changes::changes(&before, &table(resolved)?);
    let [Change { field, before, now }, others @ ..] = refused.as_slice() else {
        return Ok(changes);
    };
    let also = match others.len() {
        0 => String::new(),
        1 => " (and another field)".to_owned(),
        more => format!(" (and {more} other fields)"),
    };
    let root = directory.root().display();
    let problem = format!(
        "holds a run with another configuration: `{field}` is {before} there, {now} now{also}; expected the same one (a copy may \
         have another: choose another `name`, with --resume {root})"
    );
    Err(FileError::content(directory.root(), problem))
}

fn lies_in(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        _ => false,
    }
}

/// Finds the checkpoint that a path names: the path itself, or the latest of a run's folder.
fn find_checkpoint(path: &Path) -> Result<Checkpoint, FileError> {
    let state_file = trainer_file(STATE_FILE);
    let state = path.join(&state_file);
    if state.is_file() {
        return Ok(Checkpoint { step: step_of(&state)?, path: path.to_path_buf() });
    }
    let absent = |fault: String| {
        let place = format!("--resume {}", path.display());
        let expected = format!(
            "a checkpoint (a folder step-N that holds {state_file}) or the folder of a run"
        );
        FileError::at(place, format!("{fault}, expected {expected}"))
    };
    if path.join("checkpoints").is_dir() {
        let latest = RunDirectory::open(path)?.latest_checkpoint()?;
        return latest.ok_or_else(|| absent("a run without a checkpoint".to_owned()));
    }
    Err(absent(describe(path)))
}

fn step_of(state: &Path) -> Result<u64, FileError> {
    let fault = |fault: String| {
        FileError::content(state, format!("{fault}, expected an object with `step`"))
    };
    let bytes =
        read_at_most(state, LONGEST_TEXT_BYTES).map_err(|error| fault(error.to_string()))?;
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| fault(format!("not JSON: {error}")))?;
    value["step"].as_u64().ok_or_else(|| fault("no number `step`".to_owned()))
}

/// Describes what a path holds.
fn describe(path: &Path) -> String {
    const SHOWN: usize = 5;
    if !path.exists() {
        return "is not there".to_owned();
    }
    if !path.is_dir() {
        return "is a file".to_owned();
    }
    if path.join("config.json").is_file() || path.join("adapter_config.json").is_file() {
        return "is a model without the state of a run (`model.path` trains from its weights)"
            .to_owned();
    }
    let mut names: Vec<String> = fs::read_dir(path)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
        .collect();
    names.sort();
    if names.is_empty() {
        return "is an empty folder".to_owned();
    }
    let rest = if names.len() > SHOWN { ", …" } else { "" };
    names.truncate(SHOWN);
    format!("is a folder of {}{rest}", names.join(", "))
}

#[cfg(test)]
mod tests;
