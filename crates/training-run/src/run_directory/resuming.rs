//! Resuming in the folder of a run: its checkpoints, and changes before it continues.

use std::fs;

use serde::Serialize;
use whole_file::{LONGEST_TEXT_BYTES, WriteError, read_at_most, write_atomically};

use super::{Checkpoint, RunDirectory, RunDirectoryError, pretty_json, step_of};
use crate::resume::Change;

impl RunDirectory {
    /// Lists checkpoints from which a run may resume: the one that `latest` names, then those before it, newest first. If `latest`
    /// is missing or names no step, lists all of them, with the fault of `latest`.
    ///
    /// # Errors
    ///
    /// A folder that cannot be read.
    pub fn resumable(
        &self,
    ) -> Result<(Vec<Checkpoint>, Option<RunDirectoryError>), RunDirectoryError> {
        let mut checkpoints = self.list_checkpoints()?;
        checkpoints.reverse();
        let (last, fault) = match self.latest_checkpoint() {
            Ok(latest) => (latest.map(|latest| latest.step), None),
            Err(fault) => {
                let last = match &fault {
                    RunDirectoryError::Latest { found, .. } => step_of(found),
                    _ => None,
                };
                (last, Some(fault))
            }
        };
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
    ) -> Result<(), RunDirectoryError> {
        if changes.is_empty() {
            return Ok(());
        }
        let path = self.root.join("changes.jsonl");
        let mut lines = match read_at_most(&path, LONGEST_TEXT_BYTES) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            read => {
                read.map_err(|source| RunDirectoryError::Read { path: path.clone(), source })?
            }
        };
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
    pub fn forget_samples_after(&self, step: u64) -> Result<(), RunDirectoryError> {
        let folder = self.samples();
        let read_error = |source| RunDirectoryError::Read { path: folder.clone(), source };
        for entry in fs::read_dir(&folder).map_err(read_error)? {
            let path = entry.map_err(read_error)?.path();
            let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let is_later =
                name.split('.').next().and_then(step_of).is_some_and(|number| number > step);
            if is_later {
                fs::remove_file(&path).map_err(WriteError::of(&path, "remove"))?;
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
