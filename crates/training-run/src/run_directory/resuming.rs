//! Resuming in the folder of a run: its checkpoints, and changes before it continues.

use std::fs;

use serde::Serialize;
use whole_file::{FileError, LONGEST_TEXT_BYTES, read_at_most, write_atomically};

use super::{Checkpoint, RunDirectory, file_name, pretty_json, step_of};
use crate::resume::Change;
use crate::run_file::{RunFileError, entries, if_there};

impl RunDirectory {
    /// Lists checkpoints from which a run may resume: the one that `latest` names, then those before it, newest first. If `latest`
    /// is missing or names no step, lists all of them, with the fault of `latest`.
    pub(crate) fn resumable(
        &self,
    ) -> Result<(Vec<Checkpoint>, Option<RunFileError>), RunFileError> {
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
    ) -> Result<(), RunFileError> {
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
        write_atomically(&self.config(), config_text.as_bytes())?;
        Ok(write_atomically(&self.resolved(), &pretty_json(resolved))?)
    }

    /// Removes the samples of steps after `step`, which will be repeated.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read, or a file that cannot be removed.
    pub fn forget_samples_after(&self, step: u64) -> Result<(), RunFileError> {
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

    #[test]
    fn what_a_run_goes_on_with_is_written_down() {
        let folder = tempfile::tempdir().unwrap();
        let directory = RunDirectory::create(&folder.path().join("run")).unwrap();
        directory.write_description("a = 1\n", &1, &()).unwrap();
        directory.record_changes(3, &[], "a = 9\n", &9).unwrap();
        assert_eq!(fs::read_to_string(directory.config()).unwrap(), "a = 1\n");
        for now in ["2", "3"] {
            let [field, before, now] = ["a", "1", now].map(str::to_owned);
            let text = format!("a = {now}\n");
            directory.record_changes(4, &[Change { field, before, now }], &text, &2).unwrap();
        }
        assert_eq!(fs::read_to_string(directory.config()).unwrap(), "a = 3\n");
        assert_eq!(fs::read_to_string(directory.resolved()).unwrap(), "2\n");
        let history = fs::read_to_string(directory.root().join("changes.jsonl")).unwrap();
        let lines: Vec<&str> = history.lines().collect();
        assert_eq!(lines[0], r#"{"after_step":4,"before":"1","field":"a","now":"2"}"#);
        assert_eq!(lines.len(), 2);
    }
}
