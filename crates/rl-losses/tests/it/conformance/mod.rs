//! The recorded cases of the published codes: each is run here, or stands in [`ELSEWHERE`] with a reason.
//!
//! The two files in `tests/data` always run; so does every JSON file under `$CONFORMANCE_VECTORS`, if
//! that is set.

mod advantages;
mod divergences;
mod policy_losses;
mod recorded;
mod theory;
mod weights;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::Value;

use self::recorded::Case;

/// Recorded functions that this crate does not have, and why.
const ELSEWHERE: [(&str, &str); 2] = [
    (
        "bootstrap",
        "best@n of an evaluation draws with replacement: the evaluations report pass@k instead",
    ),
    (
        "lr",
        "the learning rate of a step is training-run's; tests/it/recorded_schedules.rs runs the case",
    ),
];

/// Cases run of each function, and cases left aside.
#[derive(Default, Debug, PartialEq)]
struct Tally {
    run: BTreeMap<String, usize>,
    left_aside: BTreeMap<String, usize>,
}

/// All 70: none is run twice, none passed over, none unaccounted for.
#[test]
fn recorded_cases_are_met() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/loss_vectors.json");
    let mut tally = Tally::default();
    assert!(run_file(&file, &mut tally), "{} holds no cases", file.display());
    let elsewhere = ELSEWHERE.map(|(name, _)| (name.to_owned(), 1));
    assert_eq!(tally.left_aside, BTreeMap::from(elsewhere), "neither run nor listed elsewhere");
    let expected = [
        ("adaptive_kl", 1),
        ("adv", 15),
        ("agg_loss", 6),
        ("cispo", 1),
        ("clip_cov", 9),
        ("dro", 1),
        ("entropy_theorem", 1),
        ("filter", 1),
        ("fit", 1),
        ("geo_mean", 1),
        ("gpg", 1),
        ("gspo", 1),
        ("kl_cov", 11),
        ("kl_cov_percent", 2),
        ("kl_penalty", 1),
        ("masked", 1),
        ("microbatch", 2),
        ("overlong", 1),
        ("sapo", 1),
        ("tis", 1),
        ("vanilla", 9),
    ];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(tally.run, BTreeMap::from(expected));
    let count = |cases: &BTreeMap<String, usize>| cases.values().sum::<usize>();
    assert_eq!((count(&tally.run), count(&tally.left_aside)), (68, 2));
}

/// Replays the cases that `tests/data/published.py` recorded of verl, TRL, prime-rl, `SkyRL`, ROLL, BAPO and Trinity-RFT.
#[test]
fn published_functions_are_met() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/published.json");
    let mut tally = Tally::default();
    assert!(run_file(&file, &mut tally), "{} holds no cases", file.display());
    let expected = [
        ("adv", 4),
        ("bapo", 3),
        ("dppo_tv_squared", 1),
        ("entropy_discriminator", 2),
        ("geo_mean", 1),
        ("gspo", 1),
        ("luspo", 1),
        ("off_policy_mask", 1),
        ("rollout_rejection", 7),
        ("sapo", 1),
        ("topr", 1),
        ("vespo", 2),
    ];
    let expected = expected.map(|(name, count)| (name.to_owned(), count));
    assert_eq!(tally.run, BTreeMap::from(expected));
    assert_eq!(tally.left_aside, BTreeMap::new());
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
        "vanilla" => policy_losses::vanilla(case),
        "clip_cov" => policy_losses::clip_cov(case),
        "kl_cov" => policy_losses::kl_cov(case),
        "kl_cov_percent" => policy_losses::kl_cov_percent(case),
        "gpg" | "cispo" | "gspo" | "sapo" | "dro" | "geo_mean" | "vespo" | "luspo" | "topr"
        | "off_policy_mask" | "dppo_tv_squared" | "bapo" => {
            policy_losses::without_selection(case);
        }
        "entropy_discriminator" => policy_losses::entropy_discriminator(case),
        "rollout_rejection" => weights::rollout_rejection(case),
        "microbatch" if case.has_param("kl_cov_ratio") => {
            policy_losses::selection_by_micro_batch(case);
        }
        "microbatch" => weights::scaling_by_micro_batch(case),
        "adv" => advantages::advantages(case),
        "agg_loss" if case.has_param("mode") => weights::aggregation(case),
        "agg_loss" => weights::aggregation_of_nothing(case),
        "filter" => weights::filter(case),
        "tis" => weights::rollout_correction(case),
        "overlong" => weights::overlong(case),
        "masked" => advantages::whitening(case),
        "kl_penalty" => divergences::kl_penalty(case),
        "adaptive_kl" => divergences::adaptive_kl(case),
        "entropy_theorem" => theory::entropy_theorem(case),
        "fit" => theory::fit(case),
        _ => return false,
    }
    true
}
