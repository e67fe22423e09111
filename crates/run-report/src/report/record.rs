//! What a report is about.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use training_run::token_record::TokenRecord;

/// Metrics of one optimiser step: the key `step` and metric names, as in a line of `metrics.jsonl`.
pub type StepRecord = BTreeMap<String, f64>;

/// What the page is about.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Heading of the page, plain text.
    pub title: String,
    /// Paragraphs under the heading, plain text.
    pub introduction: Vec<String>,
    /// Runs to compare; the first is the one the others are measured against.
    pub runs: Vec<ReportRun>,
    /// Outcome of `softmax-sim verify`, if it was run.
    pub verification: Option<Verification>,
    /// Shell command that makes the runs and the page again; empty if there is none.
    pub command: String,
}

/// One training run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ReportRun {
    /// Short name: a method, such as `KL-Cov`.
    pub name: String,
    /// A sentence about it, plain text.
    pub description: String,
    /// Records by rising step; steps without a `step` key are numbered from 1.
    pub steps: Vec<StepRecord>,
    /// Responses worth reading.
    pub samples: Vec<SampleRecord>,
    /// The resolved configuration.
    pub config_toml: String,
}

/// One response of the policy.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct SampleRecord {
    /// Step at which it was sampled.
    pub step: u64,
    /// The question.
    pub problem: String,
    /// What the policy wrote.
    pub response: String,
    /// The right answer.
    pub answer: String,
    /// What the response earned.
    pub reward: f64,
    /// Its tokens, where they were recorded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<TokenRecord>,
}

/// Outcome of `softmax-sim verify --json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Verification {
    /// Seed of the random policies.
    pub seed: u64,
    /// One row a check.
    pub rows: Vec<VerificationRow>,
}

/// One numeric check of a statement of the theory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct VerificationRow {
    /// `Lemma 1`, `Theorem 2`, …
    pub statement: String,
    /// What was compared with what.
    pub check: String,
    /// How many random cases.
    pub cases: u64,
    /// Worst value found.
    pub worst: f64,
    /// What was allowed.
    pub allowed: f64,
    /// Whether the check passed.
    pub passed: bool,
}
