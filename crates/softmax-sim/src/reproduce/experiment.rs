//! A finding: its words, its code, and the function that tests it.

use super::engine::ENGINE;
use super::outcome::ExperimentResult;
use super::progress::Progress;
use super::setting::Setting;
use super::words::Words;
use sha2::{Digest, Sha256};

/// An experiment that tests one statement of the paper.
#[derive(Debug, Clone)]
pub struct Finding {
    /// Name on the command line and of its files: kebab-case.
    pub name: &'static str,
    /// Claim, method, target and notes.
    pub words: Words,
    /// The experiment. Its result depends on the setting alone, never on the number of threads.
    pub run: Run,
    /// Source code of the finding, `include_str!` of its file, and the pages that it shares with others.
    pub sources: &'static [&'static str],
}

/// The function of a finding.
pub(super) type Run = fn(&Setting, &Progress) -> ExperimentResult;

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
