//! The revision of a finding: a digest of the engine and of the code that its result depends on.

use super::engine::ENGINE;
use super::experiment::Finding;
use sha2::{Digest, Sha256};

/// Digest of all that the result of a finding depends on beside its setting: the engine and the finding's pages of
/// code; tests are left out.
pub fn revision(finding: &Finding) -> String {
    let code = finding.sources.iter().map(|code| code.split("#[cfg(test)]").next().unwrap_or(code));
    digest(&code.fold(ENGINE.to_owned(), |text, code| text + code))
}

/// SHA-256 of a text, its first 16 hexadecimal digits.
pub fn digest(text: &str) -> String {
    format!("{:.16x}", Sha256::digest(text))
}

#[cfg(test)]
mod tests {
    use super::super::{ExperimentResult, FINDINGS};
    use super::*;

    #[test]
    fn a_finding_has_another_revision_when_its_code_is_another() {
        let finding = Finding { sources: &["fn run() {}"], ..FINDINGS[0] };
        let revision_of = |sources| revision(&Finding { sources, ..finding });
        assert_ne!(revision_of(&["fn run() {}"]), revision_of(&["fn run() { }"]));
        assert_ne!(revision_of(&["fn run() {}"]), revision_of(&["fn run() {}", "fn shared() {}"]));
        let tested = revision_of(&["fn run() {}#[cfg(test)] mod tests {}"]);
        assert_eq!(revision_of(&["fn run() {}"]), tested);
        let renamed = Finding { run: |_, _| ExperimentResult::new(vec![]), ..finding };
        assert_eq!(revision(&renamed), revision(&finding), "the source says all there is");
    }
}
