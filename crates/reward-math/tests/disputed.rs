//! The rows of the development set on whose label people differ: each with our verdict and the rule behind it, as
//! `docs/reward-math-disputed.md` lists them. `UPDATE_DOCS=1 cargo test -p reward-math --test disputed` writes that page.

#![expect(clippy::print_stdout, reason = "the measurements are read by people")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

use reward_math::{Gold, Options, Side, Verdict, extract, verify};
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    id: String,
    kind: String,
    #[serde(default)]
    prediction: Option<String>,
    #[serde(default)]
    prediction_rle: Vec<(String, usize)>,
    #[serde(default)]
    gold: Option<String>,
    #[serde(default)]
    gold_rle: Vec<(String, usize)>,
    expected: serde_json::Value,
    #[serde(default)]
    disputed: bool,
}

#[derive(Deserialize)]
struct Ruled {
    id: String,
    rule: String,
}

fn expanded(plain: Option<&String>, runs: &[(String, usize)]) -> String {
    match plain {
        Some(text) => text.clone(),
        None => runs.iter().map(|(piece, count)| piece.repeat(*count)).collect(),
    }
}

/// The label in words, our decision, and the step that took it.
fn decided(case: &Case) -> (String, String, String) {
    let options = Options::lenient();
    let prediction = expanded(case.prediction.as_ref(), &case.prediction_rle);
    let gold = expanded(case.gold.as_ref(), &case.gold_rle);
    if case.kind == "extract" {
        let found = extract(&prediction, &options);
        let expected = case.expected.as_str().unwrap_or_default();
        let text = found.as_ref().map(|found| found.text.as_str()).unwrap_or_default();
        let rule = found.as_ref().map_or("—".to_owned(), |found| format!("{:?}", found.rule));
        let same = if text == expected { "as labelled" } else { "otherwise" };
        return ("a text to find".to_owned(), same.to_owned(), rule);
    }
    let verdict = if case.kind == "verify" {
        verify(&prediction, &gold, &options)
    } else {
        match Gold::parse(&gold, &options) {
            Ok(gold) => gold.verify_answer(&prediction),
            Err(why) => Verdict::Unparsed { which: Side::GroundTruth, why },
        }
    };
    let label = if case.expected.as_bool() == Some(true) { "right" } else { "wrong" };
    let (ours, step) = match &verdict {
        Verdict::Right { how } => ("right", format!("{:?}", how.rung)),
        Verdict::Wrong { how } => ("wrong", format!("{:?}", how.rung)),
        Verdict::Unparsed { .. } => ("unparsed", "—".to_owned()),
    };
    (label.to_owned(), ours.to_owned(), step)
}

fn page(cases: &[(usize, Case)], rules: &BTreeMap<String, String>) -> String {
    let mut table = String::new();
    let mut agreeing = 0;
    for (line, case) in cases {
        let (label, ours, step) = decided(case);
        let rule = rules.get(&case.id).map_or("no rule", String::as_str);
        agreeing += usize::from(label == ours || ours == "as labelled");
        let _ = writeln!(table, "| {line} | {} | {label} | {ours} | {step} | {rule} |", case.id);
    }
    format!(
        "# Disputed rows\n\n\
         The {} rows of the development set of which its authors say that people differ about the label. They are not \
         counted in the accuracy of [the verifier](reward-math.md). By line number and identifier, as the rows themselves \
         are not part of this project; \"unparsed\" earns no reward. On {agreeing} of them the verdict is that of the label.\n\n\
         Written by `UPDATE_DOCS=1 cargo test -p reward-math --test disputed`; without the variable the test fails where \
         the page is not what the code decides.\n\n\
         | line | row | label | our verdict | step | rule |\n|---|---|---|---|---|---|\n{table}",
        cases.len()
    )
}

#[test]
fn every_disputed_row_is_listed_with_our_choice() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("SHARED_DATA")
        .map_or_else(|| root.join("../../../shared/data"), PathBuf::from);
    let path = folder.join("mathcases_dev.jsonl");
    if !path.exists() {
        println!("mathcases_dev.jsonl is absent (set SHARED_DATA to its folder): nothing compared");
        return;
    }
    let text = std::fs::read_to_string(path).expect("the file of cases can be read");
    let rules: BTreeMap<String, String> = include_str!("data/disputed.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a rule is one JSON object a line"))
        .map(|row: Ruled| (row.id, row.rule))
        .collect();
    let cases: Vec<(usize, Case)> = text
        .lines()
        .enumerate()
        .map(|(index, line)| (index + 1, serde_json::from_str(line).expect("a case is JSON")))
        .filter(|(_, case): &(usize, Case)| case.disputed)
        .collect();
    let page = page(&cases, &rules);
    assert!(!page.contains("no rule"), "a disputed row without a rule");
    let listed = root.join("../../docs/reward-math-disputed.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&listed, &page).expect("the page can be written");
    }
    let found = std::fs::read_to_string(&listed).expect("the page is there");
    assert!(found == page, "the page differs: UPDATE_DOCS=1 writes it anew");
}
