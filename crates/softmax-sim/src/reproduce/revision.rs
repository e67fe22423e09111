//! The revision of a finding: a digest of the engine and of the code that its result depends on.

use super::engine::ENGINE;
use super::experiment::Finding;
use super::finding::SHARED_SOURCES;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// Digest of all that the result of a finding depends on beside its setting: the engine, the code of the finding and
/// the code that findings share; tests are left out.
pub fn revision(finding: &Finding) -> String {
    let sources = SHARED_SOURCES.iter().chain([&finding.source]);
    let code = sources.map(|source| source.split("#[cfg(test)]").next().unwrap_or(source));
    digest(&code.fold(ENGINE.to_owned(), |text, code| text + code))
}

/// SHA-256 of a text, its first 16 hexadecimal digits.
pub fn digest(text: &str) -> String {
    Sha256::digest(text)[..8].iter().fold(String::with_capacity(16), |mut digits, byte| {
        let _ = write!(digits, "{byte:02x}");
        digits
    })
}

#[cfg(test)]
mod tests {
    use super::super::{ExperimentResult, FINDINGS};
    use super::*;

    #[test]
    fn a_finding_has_another_revision_when_its_code_is_another() {
        let finding = Finding { source: "fn run() {}", ..FINDINGS[0] };
        let revision_of = |source| revision(&Finding { source, ..finding });
        assert_ne!(revision_of("fn run() {}"), revision_of("fn run() { }"));
        assert_eq!(revision_of("fn run() {}"), revision_of("fn run() {}#[cfg(test)] mod tests {}"));
        let renamed = Finding { run: |_, _| ExperimentResult::new(vec![]), ..finding };
        assert_eq!(revision(&renamed), revision(&finding), "the source says all there is");
    }
}
