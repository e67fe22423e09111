//! Rows of the development set with disputed labels, each with our verdict and the rule behind it.
//!
//! `docs/reward-math-disputed.md` lists them.
//! `UPDATE_DOCS=1 cargo test -p reward-math --test it mathcases::disputed` writes that page.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use reward_math::{Options, Verdict, extract};
use serde::Deserialize;

use crate::mathcases::case::{self, Case};

#[derive(Deserialize)]
struct Ruled {
    id: String,
    rule: String,
}

/// Returns the label in words, our verdict, and the step that decided it.
fn decided(case: &Case) -> (String, String, String) {
    if case.kind == "extract" {
        let extracted = extract(&case.prediction(), &Options::lenient());
        let expected = case.expected.as_str().unwrap_or_default();
        let text = extracted.as_ref().map(|answer| answer.text.as_str()).unwrap_or_default();
        let rule =
            extracted.as_ref().map_or("—".to_owned(), |answer| format!("{:?}", answer.rule));
        let same = if text == expected { "as labelled" } else { "otherwise" };
        return ("a text to find".to_owned(), same.to_owned(), rule);
    }
    let label = if case.expected.as_bool() == Some(true) { "right" } else { "wrong" };
    let (ours, step) = match case.verdict() {
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
         Written by `UPDATE_DOCS=1 cargo test -p reward-math --test it mathcases::disputed`; without the variable the test fails where \
         the page is not what the code decides.\n\n\
         | line | row | label | our verdict | step | rule |\n|---|---|---|---|---|---|\n{table}",
        cases.len()
    )
}

#[test]
fn every_disputed_row_is_listed_with_our_choice() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let Some(path) = case::development_set() else {
        println!("mathcases_dev.jsonl is absent (set SHARED_DATA to its folder): nothing compared");
        return;
    };
    let rules: BTreeMap<String, String> = include_str!("../../data/disputed.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a rule is one JSON object a line"))
        .map(|row: Ruled| (row.id, row.rule))
        .collect();
    let cases: Vec<(usize, Case)> =
        (1..).zip(case::read(&path)).filter(|(_, case)| case.disputed).collect();
    let page = page(&cases, &rules);
    assert!(!page.contains("no rule"), "a disputed row without a rule");
    let listed = root.join("../../docs/reward-math-disputed.md");
    let listed_page = std::fs::read_to_string(&listed).expect("the page is there");
    // The footer gives the page's place in the book, which is not tested here.
    let end = listed_page.find("\n---\n\n").unwrap_or(listed_page.len());
    let (listed_page, footer) = listed_page.split_at(end);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&listed, format!("{page}{footer}")).expect("the page can be written");
    }
    assert!(listed_page == page, "the page differs: UPDATE_DOCS=1 writes it anew");
}
