//! Rows of the development set with disputed labels, each with our verdict and the rule behind it.
//!
//! `disputed.md` in this crate lists them.
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

/// One row a rule, in the order of their first lines: how its rows were decided, and which they are.
fn page(cases: &[(usize, Case)], rules: &BTreeMap<String, String>) -> String {
    let mut order: Vec<&str> = Vec::new();
    let mut rows_of: BTreeMap<(&str, String), Vec<String>> = BTreeMap::new();
    let mut agreeing = 0;
    for (line, case) in cases {
        let (label, ours, step) = decided(case);
        let rule = rules.get(&case.id).map_or("no rule", String::as_str);
        agreeing += usize::from(label == ours || ours == "as labelled");
        if !order.contains(&rule) {
            order.push(rule);
        }
        let decision = format!("{label} → {ours}, {step}");
        rows_of.entry((rule, decision)).or_default().push(format!("{line} {}", case.id));
    }
    let mut table = String::new();
    for rule in order {
        let decisions = rows_of.iter().filter(|((of, _), _)| *of == rule);
        let cells: Vec<String> = decisions
            .map(|((_, decision), rows)| format!("{decision}: {}", rows.join(", ")))
            .collect();
        let _ = writeln!(table, "| {rule} | {} |", cells.join("; "));
    }
    format!(
        "# Disputed rows\n\n\
         People differ about the label of {} rows of the development set. [The verifier](../../docs/reward-math.md)'s accuracy \
         leaves them out; on {agreeing} of them the verdict is that of the label. The rows themselves are not part of this \
         project: each stands by its line and identifier. \"Unparsed\" earns no reward.\n\n\
         `UPDATE_DOCS=1 cargo test -p reward-math --test it mathcases::disputed` writes this page.\n\n\
         | rule | label → our verdict, step: line and row |\n|---|---|\n{table}",
        cases.len()
    )
}

#[test]
fn every_disputed_row_is_listed_with_our_choice() {
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
    let listed = Path::new(env!("CARGO_MANIFEST_DIR")).join("disputed.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&listed, &page).expect("the page can be written");
    }
    let listed_page = std::fs::read_to_string(&listed).expect("the page is there");
    assert!(listed_page == page, "the page differs: UPDATE_DOCS=1 writes it anew");
}
