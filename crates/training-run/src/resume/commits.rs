//! Commits of the hub that a resumed run has to keep.

use std::path::Path;

use super::Resume;
use crate::config::{Commits, Run};
use crate::run_directory::{RunDirectory, RunDirectoryError};

/// Returns the commits with which the run in the folder of `run` started, or the run whose checkpoint `resume` names; none of a
/// new run.
///
/// # Errors
///
/// A record that cannot be read.
pub fn recorded_commits(run: &Run, resume: &Resume) -> Result<Commits, RunDirectoryError> {
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
