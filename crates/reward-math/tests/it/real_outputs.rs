//! Agreement with the labels of real model outputs, and the ground truths of the sets in use, where these are at hand.

#![expect(clippy::print_stdout, reason = "the measurements are read by people")]

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use reward_math::{Gold, Options, Side, Verdict, verify};
use serde::Deserialize;

#[derive(Deserialize)]
struct Output {
    id: String,
    gold: String,
    response: String,
    correct: bool,
}

#[derive(Deserialize)]
struct Problem {
    id: String,
    #[serde(default)]
    answer: Option<String>,
    #[serde(default)]
    solution: Option<String>,
}

/// The rows of a compressed set; `None` where the set is not at hand, which is said.
fn rows<T: for<'a> Deserialize<'a>>(name: &str) -> Option<Vec<T>> {
    let folder = std::env::var_os("SHARED_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let path = folder.join(name);
    let Ok(file) = std::fs::File::open(&path) else {
        println!("{name} is absent (set SHARED_DATA to its folder): nothing measured");
        return None;
    };
    let mut text = String::new();
    ruzstd::decoding::StreamingDecoder::new(file)
        .expect("the set is compressed with Zstandard")
        .read_to_string(&mut text)
        .expect("the set is UTF-8");
    let row = |line: &str| serde_json::from_str(line).expect("one JSON object a line");
    Some(text.lines().map(row).collect())
}

/// Counts and shows the rows on which verdict and label differ; their number and the number of rows.
fn disagreements(name: &str, options: &Options) -> Option<(usize, usize)> {
    let rows: Vec<Output> = rows(name)?;
    let mut differ = 0;
    for row in &rows {
        let verdict = verify(&row.response, &row.gold, options);
        if verdict.is_right() != row.correct {
            differ += 1;
            let tail: String = row
                .response
                .chars()
                .rev()
                .take(120)
                .collect::<Vec<_>>()
                .into_iter()
                .rev()
                .collect();
            println!(
                "{} label {} gold {} verdict {verdict:?}: …{tail}",
                row.id, row.correct, row.gold
            );
        }
    }
    println!("{name}: {differ} of {} rows differ from their label", rows.len());
    Some((differ, rows.len()))
}

#[test]
fn gsm8k_outputs_agree_with_their_labels() {
    if let Some((differ, rows)) = disagreements("outputs_gsm8k_gpt3.jsonl.zst", &Options::lenient())
    {
        assert_eq!((differ, rows), (0, 5276));
    }
}

#[test]
fn tora_outputs_agree_with_their_labels() {
    if let Some((differ, rows)) =
        disagreements("outputs_gsm8k_tora70b.jsonl.zst", &Options::lenient())
    {
        assert_eq!((differ, rows), (0, 1319));
    }
}

/// Every reference solution earns its own answer.
#[test]
fn reference_solutions_are_right() {
    for name in ["math_test.jsonl.zst", "math_train.jsonl.zst", "math500.jsonl.zst"] {
        let Some(rows) = rows::<Problem>(name) else { return };
        let mut misses = 0;
        for row in &rows {
            let (Some(solution), Some(answer)) = (&row.solution, &row.answer) else { continue };
            let verdict = verify(solution, answer, &Options::strict());
            if !verdict.is_right() {
                misses += 1;
                println!("{} gold {answer} verdict {verdict:?}", row.id);
            }
        }
        println!("{name}: {misses} of {} reference solutions missed", rows.len());
        // Seven of MATH's test solutions end in two boxes, of which its answer names the last alone.
        assert_eq!(misses, if name == "math_test.jsonl.zst" { 7 } else { 0 }, "{name}");
    }
}

/// Every ground truth is read as something, and is equal to itself when written with decoration.
#[test]
fn ground_truths_are_read() {
    for name in [
        "math_test.jsonl.zst",
        "math_train.jsonl.zst",
        "olympiadbench.jsonl.zst",
        "omni_math_rule.jsonl.zst",
        "minerva_math.jsonl.zst",
        "deepscaler_sub1209.jsonl.zst",
        "aime24.jsonl.zst",
        "amc23.jsonl.zst",
    ] {
        let Some(rows) = rows::<Problem>(name) else { return };
        let (mut unread, mut words) = (0, 0);
        for row in &rows {
            let Some(answer) = &row.answer else { continue };
            match Gold::parse(answer, &Options::strict()) {
                Err(why) => {
                    unread += 1;
                    println!("{} {answer:?}: {why}", row.id);
                }
                Ok(gold) => {
                    // The brackets defeat the comparison by spelling of what is not read.
                    let verdict = gold.verify_answer(&format!("( {answer} )"));
                    if matches!(verdict, Verdict::Unparsed { which: Side::GroundTruth, .. }) {
                        words += 1;
                        println!("{} {answer:?}: {verdict:?}", row.id);
                    }
                }
            }
        }
        println!(
            "{name}: {unread} of {} ground truths not read, {words} without a verdict",
            rows.len()
        );
    }
}

/// Sentences that announce an answer; `_` stands for a formula with its signs, `@` for its LaTeX.
const SENTENCES: [&str; 16] = [
    "So the answer is _.",
    "Final Answer: The final answer is _. I hope it is correct.",
    "### Final Answer\n\n_",
    "Answer: _",
    r"\[ \boxed{@} \]",
    r"Hence $\boxed{\displaystyle @}$.",
    r"\boxed{\text{The answer is } @}",
    "The answer is **_**.",
    "Hence, the required value is _.",
    "<think>So be it.</think>\n<answer>_</answer>",
    "综上所述，答案是 _。",
    "Die Antwort ist _.",
    "La réponse est donc _.",
    "Por lo tanto, la respuesta es _.",
    "Ответ: _.",
    "The correct answer is: _",
];

/// A ground truth in a sentence is right, but for one that gives two spellings with OR between.
#[test]
fn ground_truths_are_right_in_sentences() {
    let (mut seen, mut misses) = (BTreeSet::new(), 0);
    for name in ["math_test", "math_train", "olympiadbench", "omni_math_rule", "minerva_math"] {
        let Some(rows) = rows::<Problem>(&format!("{name}.jsonl.zst")) else { return };
        let answers = rows.into_iter().filter_map(|row| row.answer);
        for (place, answer) in answers.filter(|answer| seen.insert(answer.clone())).enumerate() {
            let inner = answer.trim_matches('$').trim_start_matches(r"\[").trim_end_matches(r"\]");
            let inner = inner.trim();
            let latex = if answer.matches('$').count() > 2 { &answer } else { inner };
            let sentence = SENTENCES[place % SENTENCES.len()];
            let response = sentence.replace('_', "$@$").replace('@', latex);
            let verdict = verify(&response, &answer, &Options::lenient());
            if !verdict.is_right() {
                misses += 1;
                println!("{response:?} gold {answer:?} verdict {verdict:?}");
            }
        }
    }
    println!("{misses} of {} ground truths missed in a sentence", seen.len());
    assert!(seen.len() > 5000 && misses <= 1, "{misses} of {}", seen.len());
}
