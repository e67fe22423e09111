//! Commits of a run's names of the hub, in its folder.

use std::io::ErrorKind;
use std::path::Path;

use whole_file::{LONGEST_TEXT_BYTES, read_at_most, write_atomically};

use super::{RunDirectory, RunDirectoryError, pretty_json};
use crate::config::Commits;

const FILE: &str = "hub.json";

impl RunDirectory {
    /// Writes the commits, if there are any.
    ///
    /// # Errors
    ///
    /// A write that failed.
    pub fn write_commits(&self, commits: &Commits) -> Result<(), RunDirectoryError> {
        if commits.is_empty() {
            return Ok(());
        }
        Ok(write_atomically(&self.root().join(FILE), &pretty_json(commits))?)
    }

    /// Reads the commits that a folder's run started with; none if it has no names of the hub, or is no run.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn recorded_commits(root: &Path) -> Result<Commits, RunDirectoryError> {
        let path = root.join(FILE);
        let bytes = match read_at_most(&path, LONGEST_TEXT_BYTES) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Commits::new()),
            read => read,
        };
        let commits = bytes.and_then(|bytes| Ok(serde_json::from_slice(&bytes)?));
        commits.map_err(|source| RunDirectoryError::Read { path, source })
    }
}
