//! Reads what the page needs from a run's folder.

use std::path::Path;

use whole_file::{FileError, LONGEST_TEXT_BYTES, read_text_at_most};

use super::ReportRun;
use crate::run_view::{RunView, ViewedSample};

/// Most responses of the first and of the last step that has any.
const SAMPLES: usize = 8;

impl ReportRun {
    /// Reads the run in a folder, finished, interrupted or running; `description` is empty.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming the folder, or file and line. Torn last lines, and files that are not there, are no errors.
    pub fn read(root: &Path) -> Result<Self, FileError> {
        let view = RunView::open(root)?;
        let steps = view.metrics().to_vec();
        let shown = |&step: &u64| {
            let responses = view.samples(step);
            responses.map(|all| (!all.is_empty()).then(|| worth_reading(all))).transpose()
        };
        let all = || view.steps.iter();
        let mut samples = all().find_map(shown).transpose()?.unwrap_or_default();
        let last = all().rev().find_map(shown).transpose()?.unwrap_or_default();
        if last.first().map(|sample| sample.step) != samples.first().map(|sample| sample.step) {
            samples.extend(last);
        }
        let config_toml =
            read_text_at_most(&view.directory.config(), LONGEST_TEXT_BYTES).unwrap_or_default();
        let name = view.name.clone();
        Ok(Self { name, description: String::new(), steps, samples, config_toml })
    }
}

/// Selects the responses whose tokens are recorded, or any if none are.
fn worth_reading(mut samples: Vec<ViewedSample>) -> Vec<ViewedSample> {
    if samples.iter().any(|sample| sample.tokens.is_some()) {
        samples.retain(|sample| sample.tokens.is_some());
    }
    samples.truncate(SAMPLES);
    samples
}
