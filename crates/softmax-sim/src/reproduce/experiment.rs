//! A finding: what is claimed and wanted, and the function that tests it.

use super::engine::ENGINE;
use super::outcome::ExperimentResult;
use super::progress::Progress;
use super::setting::Setting;
use sha2::{Digest, Sha256};

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

impl Finding {
    /// Digest of all that the result depends on beside its setting: the engine and the pages of code; tests are left out.
    pub fn revision(&self) -> String {
        let code =
            self.sources.iter().map(|code| code.split("#[cfg(test)]").next().unwrap_or(code));
        digest(&code.fold(ENGINE.to_owned(), |text, code| text + code))
    }
}

/// SHA-256 of a text, its first 16 hexadecimal digits.
pub fn digest(text: &str) -> String {
    format!("{:.16x}", Sha256::digest(text))
}
