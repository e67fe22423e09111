//! Resuming in the folder of a run: its checkpoints, and changes before it continues.

use std::fs;

use serde::Serialize;
use whole_file::{FileError, LONGEST_TEXT_BYTES, if_there, read_at_most, write_atomically};

use super::{Checkpoint, RunDirectory, entries, file_name, step_of};
use crate::resume::Change;

impl RunDirectory {
    /// Lists checkpoints from which a run may resume: the one that `latest` names, then those before it, newest first. If `latest`
    /// is missing or names no step, lists all of them, with the fault of `latest`.
    pub(crate) fn resumable(&self) -> Result<(Vec<Checkpoint>, Option<FileError>), FileError> {
        let mut checkpoints = self.list_checkpoints()?;
        checkpoints.reverse();
        let fault = self.latest_checkpoint().err();
        let last = self.latest_name().ok().flatten().and_then(|name| step_of(&name));
        checkpoints.retain(|checkpoint| last.is_none_or(|last| checkpoint.step <= last));
        Ok((checkpoints, fault))
    }

    /// Records that the run continues after `step` steps with these fields changed, then writes its new configuration.
    ///
    /// # Errors
    ///
    /// A write that failed.
    ///
    /// # Panics
    ///
    /// If a value cannot be serialised to JSON: a bug in its type.
    pub fn record_changes(
        &self,
        step: u64,
        changes: &[Change],
        config_text: &str,
        resolved: &impl Serialize,
    ) -> Result<(), FileError> {
        if changes.is_empty() {
            return Ok(());
        }
        let path = self.root.join("changes.jsonl");
        let before = if_there(&path, read_at_most(&path, LONGEST_TEXT_BYTES))?;
        let mut lines = before.unwrap_or_default();
        for Change { field, before, now } in changes {
            let line = serde_json::json!({
                "after_step": step, "field": field, "before": before, "now": now,
            });
            lines.extend(format!("{line}\n").bytes());
        }
        write_atomically(&path, &lines)?;
        self.write_configuration(config_text, resolved)
    }

    /// Removes the samples of steps after `step`, which will be repeated.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read, or a file that cannot be removed.
    pub fn forget_samples_after(&self, step: u64) -> Result<(), FileError> {
        for path in entries(&self.samples())? {
            let number = file_name(&path).split('.').next().and_then(step_of);
            if number.is_some_and(|number| number > step) {
                fs::remove_file(&path).map_err(FileError::of(&path, "remove"))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_of_later_steps_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(&folder.path().join("run")).unwrap();
        for step in [1, 2, 3, 12] {
            fs::write(directory.step_samples(step), "{}\n").unwrap();
            fs::write(directory.step_tokens(step), "{}\n").unwrap();
        }
        directory.forget_samples_after(2).unwrap();
        let there =
            |step| (directory.step_samples(step).exists(), directory.step_tokens(step).exists());
        assert_eq!(
            [1, 2, 3, 12].map(there),
            [(true, true), (true, true), (false, false), (false, false)]
        );
    }
}
