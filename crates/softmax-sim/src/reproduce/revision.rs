//! What a result depends on beside its setting: the engine that runs, and the code of the finding.

use super::engine::ENGINE;
use super::experiment::Finding;
use super::finding::SHARED_SOURCES;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;

/// What the result of a finding depends on beside its setting: the engine, the finding's page of code and the pages
/// that findings share; tests aside.
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
    use super::super::{FINDINGS, Outcome};
    use super::*;

    #[test]
    fn a_finding_has_another_revision_when_its_code_is_another() {
        let finding = Finding { source: "fn run() {}", ..FINDINGS[0] };
        let of = |source| revision(&Finding { source, ..finding });
        assert_ne!(of("fn run() {}"), of("fn run() { }"));
        assert_eq!(of("fn run() {}"), of("fn run() {}#[cfg(test)] mod tests {}"));
        let renamed = Finding { run: |_, _| Outcome::new(vec![]), ..finding };
        assert_eq!(revision(&renamed), revision(&finding), "the source says all there is");
    }
}
