//! Kinds of answers with a verdict of each grader: `graders.md` in this crate lists them.
//!
//! `UPDATE_DOCS=1 cargo test -p reward-math --test it graders` writes that page. The verdicts of the others are recorded from
//! `reward-math bench tests/data/kinds.jsonl --peers`.

use std::fmt::Write;
use std::path::Path;

use reward_math::{Options, verify};
use serde::Deserialize;

#[derive(Deserialize)]
struct Row {
    kind: String,
    response: String,
    answer: String,
    label: bool,
    math_verify: bool,
    oat: bool,
}

fn page(rows: &[Row]) -> String {
    let mut table = String::new();
    let mut agree = [0; 3];
    for row in rows {
        let ours = verify(&row.response, &row.answer, &Options::default()).is_right();
        let verdicts = [ours, row.math_verify, row.oat];
        let mut cells = String::new();
        for (verdict, agree) in verdicts.into_iter().zip(&mut agree) {
            *agree += usize::from(verdict == row.label);
            let mark = if verdict == row.label { "" } else { "**" };
            let _ = write!(cells, " {mark}{}{mark} |", if verdict { "right" } else { "wrong" });
        }
        let [response, answer] = [&row.response, &row.answer].map(|text| text.replace('|', "\\|"));
        let _ = writeln!(table, "| {} | `{response}` | `{answer}` |{cells}", row.kind);
    }
    let [ours, math_verify, oat] = agree;
    format!(
        "# Kinds of answers and their graders\n\n\
         {} answers that the author of [the verifier](../../docs/reward-math.md) chose, with the verdicts of Math-Verify 0.9.0 and \
         of the grader of oat 0.2.4 (`boxed_reward_fn`, not fast). A verdict in bold is not that of a person. Agreement with a \
         person: {ours} of ours, {math_verify} of Math-Verify, {oat} of oat. The choice favours the verifier that it was made for: \
         compare on your own rows with `reward-math bench FILE --peers`.\n\n\
         `UPDATE_DOCS=1 cargo test -p reward-math --test it graders` writes this page.\n\n\
         | kind | response | ground truth | ours | Math-Verify | oat |\n|---|---|---|---|---|---|\n{table}",
        rows.len()
    )
}

#[test]
fn every_kind_of_answer_is_listed_with_the_verdicts_and_ours_is_that_of_a_person() {
    let rows: Vec<Row> = include_str!("../data/kinds.jsonl")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a row is one JSON object a line"))
        .collect();
    for row in &rows {
        let verdict = verify(&row.response, &row.answer, &Options::default());
        assert_eq!(verdict.is_right(), row.label, "{}: {verdict:?}", row.response);
    }
    let page = page(&rows);
    let listed = Path::new(env!("CARGO_MANIFEST_DIR")).join("graders.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(&listed, &page).expect("the page can be written");
    }
    let listed_page = std::fs::read_to_string(&listed).expect("the page is there");
    assert!(listed_page == page, "the page differs: UPDATE_DOCS=1 writes it anew");
}
