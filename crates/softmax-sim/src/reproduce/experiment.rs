//! A finding: what is claimed and wanted, and the function that tests it.

use super::outcome::Outcome;
use super::progress::Progress;
use super::setting::Setting;

/// An experiment that tests one statement of the paper.
#[derive(Debug, Clone, Copy)]
pub struct Finding {
    /// Name on the command line and of its files: kebab-case.
    pub name: &'static str,
    /// Heading, plain text without a full stop.
    pub title: &'static str,
    /// What the paper says, and where: sentences that end with the figure, table or equation.
    pub claim: &'static str,
    /// What is run and how it is measured: environment, settings, formulas in words.
    pub method: &'static str,
    /// What was fixed beforehand as a reproduction, in words.
    pub target: &'static str,
    /// Anchors of `docs/theory.md` that derive it: `lemma-1`.
    pub theory: &'static [&'static str],
    /// Its page of code: `include_str!` of the file itself.
    pub source: &'static str,
    /// The experiment. Its result depends on the setting alone, never on the number of threads.
    pub run: fn(&Setting, &Progress) -> Outcome,
}
