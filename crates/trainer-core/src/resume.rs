//! Where a run starts: anew, after its latest checkpoint, or after a given one.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use thiserror::Error;

use crate::run_directory::{Checkpoint, RunDirectory, RunDirectoryError};

/// Where the trainer's own files lie within a checkpoint.
pub const TRAINER_FOLDER: &str = "trainer";

/// The file that makes a folder a checkpoint of a run, within [`TRAINER_FOLDER`].
pub const STATE_FILE: &str = "state.json";

/// What the user asks for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Resume {
    /// Go on with the run in the folder if there is one, else begin.
    #[default]
    Auto,
    /// Begin; a folder that holds a run is refused.
    Never,
    /// Go on after a checkpoint, `step-N`, or after the latest of a run's folder.
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

/// What the folders say to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A new run in a folder that is yet to be made.
    New,
    /// The run in this folder; from its beginning where it has no checkpoint yet.
    GoOn(RunDirectory, Option<Checkpoint>),
    /// The run in this folder, from one of its checkpoints, which becomes the latest.
    Rewind(RunDirectory, Checkpoint),
    /// A new run, from a checkpoint of another.
    Branch(Checkpoint),
}

impl Origin {
    /// The checkpoint that the run goes on after.
    pub fn checkpoint(&self) -> Option<&Checkpoint> {
        match self {
            Self::New => None,
            Self::GoOn(_, checkpoint) => checkpoint.as_ref(),
            Self::Rewind(_, checkpoint) | Self::Branch(checkpoint) => Some(checkpoint),
        }
    }
}

/// Why a run cannot start where it was asked to.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ResumeError {
    /// The folder holds a run, and none was wanted there.
    #[error(
        "{}: holds a run{}, expected none with --resume {asked} (remove the folder, or choose another `name`)",
        root.display(),
        .latest.map_or_else(String::new, |step| format!(" with a checkpoint of step {step}"))
    )]
    Occupied {
        /// The run's folder.
        root: PathBuf,
        /// Its latest checkpoint.
        latest: Option<u64>,
        /// What was asked for.
        asked: Resume,
    },
    /// The folder holds a run of another configuration.
    #[error(
        "{}: holds a run with another configuration, expected the same one (remove the folder, or choose another `name`){}",
        root.display(),
        .difference.as_ref().map_or_else(String::new, |line| format!("; first difference: {line}"))
    )]
    OtherConfiguration {
        /// The run's folder.
        root: PathBuf,
        /// The first line that differs.
        difference: Option<String>,
    },
    /// What `--resume` names is no checkpoint.
    #[error(
        "--resume {}: {found}, expected a checkpoint (a folder step-N that holds {TRAINER_FOLDER}/{STATE_FILE}) or the folder of a run",
        path.display()
    )]
    NoCheckpoint {
        /// As given.
        path: PathBuf,
        /// What is there.
        found: String,
    },
    /// A checkpoint does not say which step it is of.
    #[error("{}: {found}, expected an object with `step`", path.display())]
    State {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        found: String,
    },
    /// A run's folder cannot be used.
    #[error(transparent)]
    Directory(#[from] RunDirectoryError),
}

/// Finds where a run of folder `root` and configuration `resolved` (the text of its `config.toml`) starts.
///
/// # Errors
///
/// [`ResumeError`], which says what was found.
pub fn origin(root: &Path, resolved: &str, resume: &Resume) -> Result<Origin, ResumeError> {
    let begun = root.join("config.toml").exists();
    let named = match resume {
        Resume::From(path) => Some(find_checkpoint(path)?),
        Resume::Auto | Resume::Never => None,
    };
    match (begun, named) {
        (false, None) => Ok(Origin::New),
        (false, Some(checkpoint)) => Ok(Origin::Branch(checkpoint)),
        (true, named) => {
            let directory = RunDirectory::open(root)?;
            let own = named.as_ref().is_none_or(|checkpoint| lies_in(&checkpoint.path, root));
            if *resume == Resume::Never || !own {
                let latest = directory.latest_checkpoint().ok().flatten().map(|latest| latest.step);
                let (root, asked) = (root.to_path_buf(), resume.clone());
                return Err(ResumeError::Occupied { root, latest, asked });
            }
            check_configuration(&directory, resolved)?;
            match named {
                None => {
                    let latest = directory.latest_checkpoint()?;
                    Ok(Origin::GoOn(directory, latest))
                }
                Some(checkpoint) => Ok(Origin::Rewind(directory, checkpoint)),
            }
        }
    }
}

fn check_configuration(directory: &RunDirectory, resolved: &str) -> Result<(), ResumeError> {
    let path = directory.config();
    let earlier = fs::read_to_string(&path)
        .map_err(|source| RunDirectoryError::Read { path: path.clone(), source })?;
    let (earlier, now) = (decisive(&earlier), decisive(resolved));
    if earlier == now {
        return Ok(());
    }
    let difference = earlier
        .into_iter()
        .zip(now)
        .find(|(earlier, now)| earlier != now)
        .map(|(earlier, now)| format!("`{earlier}` there, `{now}` now"));
    Err(ResumeError::OtherConfiguration { root: directory.root().to_path_buf(), difference })
}

/// The lines of a configuration that decide what a run computes: all but how it is spread over processes.
fn decisive(resolved: &str) -> Vec<&str> {
    let mut is_spread = false;
    let decides = |line: &&str| {
        if line.starts_with('[') {
            is_spread = *line == "[parallel]";
        }
        !is_spread
    };
    resolved.lines().filter(decides).collect()
}

fn lies_in(path: &Path, root: &Path) -> bool {
    match (path.canonicalize(), root.canonicalize()) {
        (Ok(path), Ok(root)) => path.starts_with(root),
        _ => false,
    }
}

/// The checkpoint that a path names: itself, or the latest of a run's folder.
fn find_checkpoint(path: &Path) -> Result<Checkpoint, ResumeError> {
    let state = path.join(TRAINER_FOLDER).join(STATE_FILE);
    if state.is_file() {
        return Ok(Checkpoint { step: step_of(&state)?, path: path.to_path_buf() });
    }
    let absent = |found: String| ResumeError::NoCheckpoint { path: path.to_path_buf(), found };
    if path.join("checkpoints").is_dir() {
        let latest = RunDirectory::open(path)?.latest_checkpoint()?;
        return latest.ok_or_else(|| absent("a run without a checkpoint".to_owned()));
    }
    Err(absent(describe(path)))
}

fn step_of(state: &Path) -> Result<u64, ResumeError> {
    let fault = |found: String| ResumeError::State { path: state.to_path_buf(), found };
    let bytes = crate::bounded_read::read_at_most(state, crate::bounded_read::LONGEST_TEXT_BYTES)
        .map_err(|error| fault(error.to_string()))?;
    let value: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| fault(format!("not JSON: {error}")))?;
    value["step"].as_u64().ok_or_else(|| fault("no number `step`".to_owned()))
}

/// What a path is, in words.
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
mod tests {
    use super::*;

    /// A run's folder with checkpoints of these steps, all of configuration `a = 1`.
    fn run(root: &Path, steps: &[u64]) {
        let directory = RunDirectory::create(root).unwrap();
        directory.write_description("a = 1\n", &(), &()).unwrap();
        for &step in steps {
            let folder = directory.begin_checkpoint(step).unwrap();
            fs::create_dir(folder.path().join(TRAINER_FOLDER)).unwrap();
            let state = folder.path().join(TRAINER_FOLDER).join(STATE_FILE);
            fs::write(state, format!("{{\"step\": {step}}}")).unwrap();
            directory.finish_checkpoint(step, folder, 0).unwrap();
        }
    }

    fn said(root: &Path, resume: &str) -> String {
        let error = origin(root, "a = 1\n", &resume.parse().unwrap()).unwrap_err().to_string();
        error.replace(&root.parent().unwrap().display().to_string(), "DIR")
    }

    #[test]
    fn auto_begins_goes_on_or_begins_again() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("run");
        let start = || origin(&root, "a = 1\n", &Resume::Auto).unwrap();
        assert_eq!(start(), Origin::New);
        run(&root, &[]);
        assert!(matches!(start(), Origin::GoOn(_, None)));
        fs::remove_dir_all(&root).unwrap();
        run(&root, &[2, 4]);
        assert_eq!(start().checkpoint().map(|checkpoint| checkpoint.step), Some(4));
        let other = origin(&root, "a = 2\n", &Resume::Auto).unwrap_err().to_string();
        assert!(other.ends_with("first difference: `a = 1` there, `a = 2` now"), "{other}");
    }

    #[test]
    fn how_a_run_is_spread_over_processes_may_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("run");
        let with = |zero: u8, steps: u8| {
            format!("a = 1\n\n[parallel]\nzero = {zero}\n\n[training]\nsteps = {steps}\n")
        };
        RunDirectory::create(&root).unwrap().write_description(&with(0, 1), &(), &()).unwrap();
        assert!(matches!(origin(&root, &with(3, 1), &Resume::Auto), Ok(Origin::GoOn(..))));
        let other = origin(&root, &with(3, 2), &Resume::Auto).unwrap_err().to_string();
        assert!(other.ends_with("`steps = 1` there, `steps = 2` now"), "{other}");
    }

    #[test]
    fn never_refuses_a_folder_with_a_run() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("run");
        assert_eq!(origin(&root, "", &Resume::Never).unwrap(), Origin::New);
        run(&root, &[2]);
        assert!(
            said(&root, "never").starts_with(
                "DIR/run: holds a run with a checkpoint of step 2, expected none with --resume never"
            ),
            "{}",
            said(&root, "never")
        );
    }

    #[test]
    fn a_path_is_a_checkpoint_of_this_run_or_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let [root, other] = ["run", "other"].map(|name| folder.path().join(name));
        run(&root, &[2, 4]);
        run(&other, &[3, 6]);
        let from = |root: &Path, path: PathBuf| origin(root, "a = 1\n", &Resume::From(path));
        let rewound = from(&root, root.join("checkpoints/step-2")).unwrap();
        assert!(matches!(rewound, Origin::Rewind(_, Checkpoint { step: 2, .. })), "{rewound:?}");
        let branch = from(&folder.path().join("new"), other.clone()).unwrap();
        assert!(matches!(branch, Origin::Branch(Checkpoint { step: 6, .. })), "{branch:?}");
        let branch = from(&folder.path().join("new"), other.join("checkpoints/step-3")).unwrap();
        assert!(matches!(branch, Origin::Branch(Checkpoint { step: 3, .. })), "{branch:?}");
        let both = from(&root, other).unwrap_err().to_string();
        assert!(both.contains("holds a run with a checkpoint of step 4, expected none"), "{both}");
    }

    #[test]
    fn what_is_no_checkpoint_is_described() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("run");
        run(&folder.path().join("bare"), &[]);
        let place = |name: &str| folder.path().join(name);
        fs::create_dir(place("empty")).unwrap();
        fs::create_dir(place("model")).unwrap();
        fs::write(place("model").join("config.json"), "{}").unwrap();
        fs::create_dir_all(place("broken").join(TRAINER_FOLDER)).unwrap();
        fs::write(place("broken").join(TRAINER_FOLDER).join(STATE_FILE), "{\"step\": -1}").unwrap();
        for (name, expected) in [
            (
                "nowhere",
                "is not there, expected a checkpoint (a folder step-N that holds trainer/state.json)",
            ),
            ("model/config.json", "is a file, expected"),
            (
                "model",
                "is a model without the state of a run (`model.path` trains from its weights)",
            ),
            ("empty", "is an empty folder"),
            ("bare", "a run without a checkpoint"),
            ("broken", "trainer/state.json: no number `step`"),
            ("", "is a folder of bare, broken, empty, model, expected"),
        ] {
            let error = said(&root, place(name).to_str().unwrap());
            assert!(error.contains(expected), "{name}: {error}");
        }
    }
}
