//! The recorded cases of the published codes.
//!
//! The file in `tests/data` always runs; so does every JSON file under `$CONFORMANCE_VECTORS`, if
//! that is set.

mod policy_losses;
mod recorded;
mod weights_and_advantages;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;

use self::{
    policy_losses::{
        clip_cov, kl_cov, kl_cov_percent, selection_by_micro_batch, vanilla, without_selection,
    },
    recorded::Case,
    weights_and_advantages::{
        advantages, aggregation, aggregation_of_nothing, filter, scaling_by_micro_batch,
    },
};

/// What the crate does not offer yet, by name; anything else that does not run fails the test.
const NOT_COVERED: [&str; 16] = [
    "adaptive_kl",
    "adv/gae",
    "adv/gpg",
    "adv/grpo_passk",
    "adv/opo",
    "adv/reinforce_plus_plus",
    "adv/reinforce_plus_plus_baseline",
    "adv/remax",
    "bootstrap",
    "entropy_theorem",
    "fit",
    "kl_penalty",
    "lr",
    "masked",
    "overlong",
    "tis",
];

/// Cases run of each function, and cases left aside.
#[derive(Default, Debug, PartialEq)]
struct Tally {
    run: BTreeMap<String, usize>,
    left_aside: BTreeMap<String, usize>,
}

#[test]
fn recorded_cases_are_met() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/loss_vectors.json");
    let mut tally = Tally::default();
    assert!(run_file(&file, &mut tally), "{} holds no cases", file.display());

    let unknown: Vec<&String> =
        tally.left_aside.keys().filter(|name| !NOT_COVERED.contains(&name.as_str())).collect();
    assert!(unknown.is_empty(), "neither run nor listed as not covered: {unknown:?}");
    assert_eq!(tally.left_aside.len(), NOT_COVERED.len(), "listed but not recorded");
    let expected = [
        ("adv/grpo", 4),
        ("adv/rloo", 2),
        ("agg_loss", 6),
        ("cispo", 1),
        ("clip_cov", 9),
        ("dro", 1),
        ("filter", 1),
        ("geo_mean", 1),
        ("gpg", 1),
        ("gspo", 1),
        ("kl_cov", 11),
        ("kl_cov_percent", 2),
        ("microbatch", 2),
        ("sapo", 1),
        ("vanilla", 9),
    ];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(tally.run, BTreeMap::from(expected));
}

#[test]
fn further_cases_named_by_the_environment_are_met() {
    let Some(folder) = std::env::var_os("CONFORMANCE_VECTORS") else {
        eprintln!("CONFORMANCE_VECTORS is not set: only the cases in tests/data run");
        return;
    };
    let mut tally = Tally::default();
    let mut files = Vec::new();
    json_files(Path::new(&folder), &mut files);
    let with_cases = files.iter().filter(|file| run_file(file, &mut tally)).count();
    eprintln!("{with_cases} of {} files hold cases: {tally:#?}", files.len());
    assert!(!tally.run.is_empty(), "no case for this crate under {}", folder.display());
}

fn json_files(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            json_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "json") {
            files.push(path);
        }
    }
    files.sort();
}

/// Runs the cases of a file; says whether it is a file of cases at all.
fn run_file(file: &Path, tally: &mut Tally) -> bool {
    let text = std::fs::read_to_string(file).expect("a readable file");
    let mut json: Value = serde_json::from_str(&text).expect("valid JSON");
    let Some(Value::Array(cases)) = json.get_mut("cases").map(Value::take) else { return false };
    if !cases.iter().all(|case| case["fn"].is_string()) {
        return false;
    }
    for case in cases {
        let case = Case::new(case);
        let function = case.function();
        let counts =
            if run_case(&function, &case) { &mut tally.run } else { &mut tally.left_aside };
        *counts.entry(function).or_default() += 1;
    }
    true
}

fn run_case(function: &str, case: &Case) -> bool {
    match function {
        "vanilla" => vanilla(case),
        "clip_cov" => clip_cov(case),
        "kl_cov" => kl_cov(case),
        "kl_cov_percent" => kl_cov_percent(case),
        "gpg" | "cispo" | "gspo" | "sapo" | "dro" | "geo_mean" => without_selection(case),
        "microbatch" if case.has_param("kl_cov_ratio") => selection_by_micro_batch(case),
        "microbatch" => scaling_by_micro_batch(case),
        "adv/grpo" | "adv/rloo" => advantages(case),
        "agg_loss" if case.has_param("mode") => aggregation(case),
        "agg_loss" => aggregation_of_nothing(case),
        "filter" => filter(case),
        _ => return false,
    }
    true
}
