//! The findings, in the order of the report.

mod cart_pole;
mod ceiling;
mod clocks;
mod collapse;
mod control;
mod covariance;
mod difficulty;
mod forecast;
mod law;
mod law_held_out;
mod law_limits;
mod law_runs;
mod lemma_1;
mod long_tail;
mod on_policy_trace;
mod same_curve;
mod scaling;

use super::Finding;

/// Every finding.
pub static FINDINGS: &[Finding] = &[
    collapse::FINDING,
    law::FINDING,
    law_held_out::FINDING,
    law_limits::FINDING,
    clocks::FINDING,
    forecast::FINDING,
    ceiling::FINDING,
    scaling::FINDING,
    lemma_1::FINDING,
    covariance::FINDING,
    difficulty::FINDING,
    long_tail::FINDING,
    same_curve::FINDING,
    control::entropy_bonus::FINDING,
    control::reference_kl::FINDING,
    control::clip_higher::FINDING,
    control::covariance_methods::FINDING,
    control::knobs::FINDING,
    control::thermostat::FINDING,
    control::same_budget::FINDING,
    cart_pole::FINDING,
];

/// The finding of that name.
pub fn find(name: &str) -> Option<&'static Finding> {
    FINDINGS.iter().find(|finding| finding.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_unique_and_kebab_case() {
        let names: BTreeSet<&str> = FINDINGS.iter().map(|finding| finding.name).collect();
        assert_eq!(names.len(), FINDINGS.len());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        assert!(names.iter().all(|name| !name.is_empty() && name.chars().all(plain)), "{names:?}");
    }

    /// Every file of the folder is a source of a finding, and a finding that calls another file counts it among its own.
    #[test]
    fn the_code_of_every_finding_is_known() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/reproduce/finding");
        for folder in [folder.clone(), folder.join("control")] {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() || path.ends_with("mod.rs") {
                    continue;
                }
                let text = std::fs::read_to_string(&path).unwrap();
                let call = format!("super::{}::", path.file_stem().unwrap().display());
                let is_of = |finding: &&Finding| finding.sources.contains(&text.as_str());
                assert!(FINDINGS.iter().any(|finding| is_of(&finding)), "{}", path.display());
                for finding in FINDINGS.iter().filter(|one| one.sources[0].contains(&call)) {
                    assert!(is_of(&finding), "{} calls {}", finding.name, path.display());
                }
            }
        }
    }

    #[test]
    fn every_finding_says_what_is_claimed_done_and_wanted() {
        for finding in FINDINGS {
            for text in [finding.claim, finding.method, finding.target] {
                assert!(text.len() > 40 && text.ends_with('.'), "{}: {text}", finding.name);
            }
            assert!(!finding.title.is_empty() && !finding.title.ends_with('.'), "{}", finding.name);
        }
    }
}
