//! Contents of a report.

use serde::{Deserialize, Serialize};
use training_run::metrics::StepMetrics;

use crate::run_view::ViewedSample;

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
