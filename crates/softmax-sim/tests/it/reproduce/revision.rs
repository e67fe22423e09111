//! The revision of a finding: a digest of the engine and of the code that its result depends on.

use softmax_sim::reproduce::{ExperimentResult, FINDINGS, Finding};

#[test]
fn a_finding_has_another_revision_when_its_code_is_another() {
    let finding = Finding { sources: &["fn run() {}"], ..FINDINGS[0].clone() };
    let revision_of = |sources| Finding { sources, ..finding.clone() }.revision();
    assert_ne!(revision_of(&["fn run() {}"]), revision_of(&["fn run() { }"]));
    assert_ne!(revision_of(&["fn run() {}"]), revision_of(&["fn run() {}", "fn shared() {}"]));
    let tested = revision_of(&["fn run() {}#[cfg(test)] mod tests {}"]);
    assert_eq!(revision_of(&["fn run() {}"]), tested);
    let renamed = Finding { run: |_, _| ExperimentResult::new(vec![]), ..finding.clone() };
    assert_eq!(renamed.revision(), finding.revision(), "the source says all there is");
}
