//! One self-contained HTML page about one or several training runs.
//!
//! No script, no network: charts are inline SVG ([`figures`]), light and dark by CSS. Every number is
//! computed here from the step records; where a metric was not recorded a sentence says so.

#![expect(
    clippy::format_push_string,
    reason = "a page is built once: `write!` with results to discard would only be harder to read"
)]

mod covariance_tail;
mod curves;
mod differences;
mod entropy_change;
mod glossary;
pub mod line_fit;
mod metric;
mod outlook;
mod page;
mod read;
mod reward_entropy;
mod samples;
mod summary;
mod verification;

use std::collections::BTreeMap;
use std::path::Path;

use figures::Section;
use figures::chart_svg::standalone_svg;
use serde::{Deserialize, Serialize};
use thiserror::Error;
use training_run::token_record::TokenRecord;
use whole_file::{WriteError, write_atomically};

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

/// A report that could not be written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The file could not be written; an older one is as it was.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl Report {
    /// The page. Never fails: runs may be empty and values not finite.
    pub fn render(&self) -> String {
        page::page(self).html()
    }

    /// Writes the page, all or nothing.
    ///
    /// # Errors
    ///
    /// [`ReportError`], naming the file.
    pub fn write(&self, path: &Path) -> Result<(), ReportError> {
        Ok(write_atomically(path, self.render().as_bytes())?)
    }

    /// Every chart of the page as `(file stem, SVG)`, each readable on its own.
    pub fn charts(&self) -> Vec<(String, String)> {
        let sections = page::sections(self);
        let figures = sections.iter().flat_map(Section::figures);
        figures.map(|f| (f.chart.stem.clone(), standalone_svg(&f.chart))).collect()
    }

    /// Writes every chart to `directory/STEM.svg`; the directory must exist.
    ///
    /// # Errors
    ///
    /// [`ReportError`], naming the first file that could not be written.
    pub fn write_charts(&self, directory: &Path) -> Result<(), ReportError> {
        for (stem, svg) in self.charts() {
            write_atomically(&directory.join(format!("{stem}.svg")), svg.as_bytes())?;
        }
        Ok(())
    }
}
