//! Reads what the page needs from a run's folder.

use std::path::Path;

use whole_file::{LONGEST_TEXT_BYTES, read_text_at_most};

use super::{ReportRun, SampleRecord};
use crate::run_view::{RunView, RunViewError, ViewedSample};

/// Most responses of the first and of the last step that has any.
const SAMPLES: usize = 8;

impl ReportRun {
    /// Reads the run in a folder, finished, interrupted or running; `description` is empty.
    ///
    /// # Errors
    ///
    /// [`RunViewError`], naming the folder, or file and line. Torn last lines, and files that are not there, are no errors.
    pub fn read(root: &Path) -> Result<Self, RunViewError> {
        let view = RunView::open(root)?;
        let steps = view.metrics().to_vec();
        let mut samples = Vec::new();
        let shown = |&step: &u64| {
            let responses = view.samples(step);
            responses.map(|all| (!all.is_empty()).then_some((step, all))).transpose()
        };
        let all = || view.steps.iter();
        for end in [all().find_map(shown), all().rev().find_map(shown)].into_iter().flatten() {
            let (step, responses) = end?;
            if samples.iter().all(|sample: &SampleRecord| sample.step != step) {
                samples.extend(worth_reading(step, responses));
            }
        }
        let config_toml =
            read_text_at_most(&view.directory.config(), LONGEST_TEXT_BYTES).unwrap_or_default();
        let name = view.name.clone();
        Ok(Self { name, description: String::new(), steps, samples, config_toml })
    }
}

/// Selects the responses whose tokens are recorded, or any if none are.
fn worth_reading(step: u64, mut samples: Vec<ViewedSample>) -> Vec<SampleRecord> {
    if samples.iter().any(|sample| sample.tokens.is_some()) {
        samples.retain(|sample| sample.tokens.is_some());
    }
    samples.truncate(SAMPLES);
    let record = |sample: ViewedSample| SampleRecord {
        step,
        problem: sample.problem,
        response: sample.response,
        answer: sample.answer,
        reward: sample.reward,
        tokens: sample.tokens,
    };
    samples.into_iter().map(record).collect()
}
