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
use super::experiment::Run;
use super::words::WORDS;
use control::{
    clip_higher, covariance_methods, entropy_bonus, knobs, reference_kl, same_budget, thermostat,
};
use std::sync::LazyLock;

const LAW_RUNS: &str = include_str!("law_runs.rs");
const TRACE: &str = include_str!("on_policy_trace.rs");
const ARENA: &str = include_str!("control/arena.rs");
const SHOW: &str = include_str!("control/show.rs");
const KNOBS: &str = include_str!("control/knobs.rs");
const ENGINE: &str = include_str!("../engine.rs");

/// Name, experiment and sources of every finding, in the order of the report.
const CODE: [(&str, Run, &[&str]); 21] = [
    ("collapse", collapse::run, &[include_str!("collapse.rs"), LAW_RUNS]),
    ("law", law::run, &[include_str!("law.rs"), LAW_RUNS, ENGINE]),
    ("law-held-out", law_held_out::run, &[include_str!("law_held_out.rs"), LAW_RUNS, ENGINE]),
    ("law-limits", law_limits::run, &[include_str!("law_limits.rs"), LAW_RUNS]),
    ("clocks", clocks::run, &[include_str!("clocks.rs")]),
    ("forecast", forecast::run, &[include_str!("forecast.rs")]),
    ("ceiling", ceiling::run, &[include_str!("ceiling.rs"), LAW_RUNS, ENGINE]),
    ("scaling", scaling::run, &[include_str!("scaling.rs"), LAW_RUNS]),
    ("lemma-1", lemma_1::run, &[include_str!("lemma_1.rs")]),
    ("covariance", covariance::run, &[include_str!("covariance.rs"), TRACE]),
    ("difficulty", difficulty::run, &[include_str!("difficulty.rs"), TRACE]),
    ("long-tail", long_tail::run, &[include_str!("long_tail.rs")]),
    ("same-curve", same_curve::run, &[include_str!("same_curve.rs")]),
    ("entropy-bonus", entropy_bonus::run, &[include_str!("control/entropy_bonus.rs"), ARENA, SHOW]),
    ("reference-kl", reference_kl::run, &[include_str!("control/reference_kl.rs"), ARENA, SHOW]),
    ("clip-higher", clip_higher::run, &[include_str!("control/clip_higher.rs"), ARENA, SHOW]),
    (
        "clip-cov-kl-cov",
        covariance_methods::run,
        &[include_str!("control/covariance_methods.rs"), ARENA, SHOW],
    ),
    ("knobs", knobs::run, &[KNOBS, ARENA, SHOW]),
    ("thermostat", thermostat::run, &[include_str!("control/thermostat.rs"), KNOBS, ARENA, SHOW]),
    (
        "same-budget",
        same_budget::run,
        &[include_str!("control/same_budget.rs"), include_str!("control/grids.rs"), ARENA, ENGINE],
    ),
    ("cart-pole", cart_pole::run, &[include_str!("cart_pole.rs")]),
];

/// Every finding, in the order of the report.
pub static FINDINGS: LazyLock<Vec<Finding>> = LazyLock::new(|| {
    let finding = |(name, run, sources)| Finding { name, words: WORDS[name].clone(), run, sources };
    CODE.map(finding).to_vec()
});

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
        assert!(names.iter().eq(WORDS.keys()), "every section of the words is of a finding");
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
        for Finding { name, words, sources, .. } in FINDINGS.iter() {
            for text in [&words.claim, &words.method, &words.target] {
                assert!(text.len() > 40 && text.ends_with('.'), "{name}: {text}");
            }
            assert!(!words.title.is_empty() && !words.title.ends_with('.'), "{name}");
            for stem in words.figures.keys() {
                let drawn = sources[0].contains(&format!("\"{stem}\""));
                assert!(drawn, "{name} draws no figure `{stem}`");
            }
        }
    }
}
