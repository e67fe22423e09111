//! A finding: what is claimed and wanted, and the function that tests it.

use super::outcome::ExperimentResult;
use super::progress::Progress;
use super::setting::Setting;

/// An experiment that tests one statement of the paper.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// Name on the command line and of its files: kebab-case.
    pub name: &'static str,
    /// Heading, plain text without a full stop.
    pub title: &'static str,
    /// Statement of the paper: sentences that end with the figure, table or equation.
    pub claim: &'static str,
    /// Runs and measurements: environment, settings, formulas in words.
    pub method: &'static str,
    /// Criterion of a reproduction, in words; met by the interval of the mean over seeds.
    pub target: &'static str,
    /// Anchors of `docs/theory.md` that derive the claim: `lemma-1`.
    pub theory: &'static [&'static str],
    /// Source code of the finding, `include_str!` of its file, and the pages that it shares with others.
    pub sources: &'static [&'static str],
    /// The experiment. Its result depends on the setting alone, never on the number of threads.
    pub run: fn(&Setting, &Progress) -> ExperimentResult,
}
