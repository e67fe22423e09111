//! Contents of a report, of which runs are read from their folders.

use std::path::Path;

use serde::{Deserialize, Serialize};
use training_run::metrics::StepMetrics;
use whole_file::{FileError, LONGEST_TEXT_BYTES, read_text_at_most};

use crate::run_view::{RunView, ViewedSample};

/// Contents of the page.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Report {
    /// Heading of the page, plain text.
    pub title: String,
    /// Paragraphs under the heading, plain text.
    pub introduction: Vec<String>,
    /// Runs to compare; the first is the baseline.
    pub runs: Vec<ReportRun>,
    /// Outcome of `softmax-sim verify`, if it was run.
    pub verification: Option<Verification>,
    /// Shell command that reproduces the runs and the page; empty if there is none.
    pub command: String,
}

/// One training run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ReportRun {
    /// Short name: a method, such as `KL-Cov`.
    pub name: String,
    /// A sentence about it, plain text.
    pub description: String,
    /// Metrics by rising step.
    pub steps: Vec<StepMetrics>,
    /// Responses that are shown.
    pub samples: Vec<ViewedSample>,
    /// The resolved configuration.
    pub config_toml: String,
}

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

/// Outcome of `softmax-sim verify --json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Seed of the random policies.
    pub seed: u64,
    /// Checks, one row each.
    pub rows: Vec<VerificationRow>,
}

/// One numeric check of a statement of the theory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VerificationRow {
    /// Name of the statement: `Lemma 1`, `Theorem 2`, …
    pub statement: String,
    /// Description of the two compared values.
    pub check: String,
    /// Number of random cases.
    pub cases: u64,
    /// Worst value over the cases.
    pub worst: f64,
    /// Largest allowed value.
    pub allowed: f64,
    /// True if the check passed.
    pub passed: bool,
}
