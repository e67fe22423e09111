//! Accuracy on recorded cases: the project's own rows, and the full set if present.

#![expect(clippy::print_stdout, reason = "the measurements are read by people")]

mod case;
mod disputed;

use std::path::Path;

use reward_math::{Extracted, Options, extract};

/// Least fraction of the project's own rows on which the verdict agrees with the label.
const OWN_FLOOR: f64 = 0.99;
/// Least fraction over the full set, which includes the rows of other projects.
const WHOLE_FLOOR: f64 = 0.99;

/// Least fraction of the rows that independent examiners wrote.
const EXAMINED_FLOOR: f64 = 0.98;

/// Least fraction of those of the third file, a half of it derivations in a box and prose without one.
const EXAMINED_3_FLOOR: f64 = 0.97;

#[derive(Default)]
struct Tally {
    rows: usize,
    agreed: usize,
    false_positives: Vec<String>,
    misses: Vec<String>,
}

#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn tally(path: &Path) -> Tally {
    let mut tally = Tally::default();
    let verbose = std::env::var_os("MATHCASES_VERBOSE").is_some();
    for case in case::read(path).iter().filter(|case| !case.disputed) {
        let (prediction, gold) = (case.prediction(), case.gold());
        tally.rows += 1;
        let short = |text: &str| text.chars().take(160).collect::<String>().replace('\n', "\\n");
        if case.kind == "extract" {
            let extracted = extract(&prediction, &Options::lenient());
            let expected = case.expected.as_str().unwrap_or_default().to_owned();
            let text = |extracted: Option<Extracted>| {
                extracted.map(|answer| answer.text).unwrap_or_default()
            };
            let plain = |text: &str| text.replace([' ', '$', '.', '\n'], "");
            let found_text = text(extracted);
            if plain(&found_text) == plain(&expected) {
                tally.agreed += 1;
            } else {
                tally.misses.push(format!(
                    "{} {} | {} | {found_text}",
                    case.id,
                    case.category,
                    short(&prediction)
                ));
            }
            continue;
        }
        let expected = case.expected.as_bool().expect("a decision is true or false");
        let start = std::time::Instant::now();
        let verdict = case.verdict();
        if verbose && start.elapsed().as_millis() > 5 {
            println!("slow {} ms: {} {}", start.elapsed().as_millis(), case.id, short(&prediction));
        }
        let row = format!(
            "{} {} | {} | {} | {verdict:?}",
            case.id,
            case.category,
            short(&prediction),
            short(&gold)
        );
        match (verdict.is_right(), expected) {
            (found, expected) if found == expected => tally.agreed += 1,
            (true, _) => tally.false_positives.push(row),
            (false, _) => tally.misses.push(row),
        }
    }
    let share = tally.agreed as f64 / tally.rows as f64;
    println!(
        "{}: {} of {} rows agree ({share:.3}), {} false positives, {} misses",
        path.file_name().unwrap_or_default().display(),
        tally.agreed,
        tally.rows,
        tally.false_positives.len(),
        tally.misses.len()
    );
    if verbose {
        for row in &tally.false_positives {
            println!("false positive {row}");
        }
        for row in &tally.misses {
            println!("miss {row}");
        }
    }
    tally
}

fn tally_of(file: &str) -> Tally {
    tally(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(file))
}

/// Fails if a file of the tests has too few rows, a false positive, or too small a fraction that agrees.
fn reaches(file: &str, rows: usize, floor: f64) {
    let tally = tally_of(file);
    assert!(tally.rows > rows, "only {} rows", tally.rows);
    assert!(tally.false_positives.is_empty(), "{}", tally.false_positives.join("\n"));
    let share = tally.agreed as f64 / tally.rows as f64;
    let misses = tally.misses.join("\n");
    assert!(share >= floor, "{share} of the rows agree, {floor} was reached before:\n{misses}");
}

#[test]
fn own_cases_reach_the_floor() {
    reaches("mathcases_own.jsonl", 400, OWN_FLOOR);
}

/// New spellings and near misses of every part of the language that the verifier reads.
#[test]
fn every_row_of_the_language_agrees() {
    reaches("language.jsonl", 1900, 1.0);
}

/// Answers in the styles of the public sets, right ones and near misses, written before the verifier saw any of them.
#[test]
fn every_fresh_row_agrees() {
    reaches("fresh.jsonl", 1200, 1.0);
}

#[test]
fn the_whole_set_is_measured_where_it_is_at_hand() {
    let Some(path) = case::development_set() else {
        println!("mathcases_dev.jsonl is absent (set SHARED_DATA to its folder): nothing measured");
        return;
    };
    let tally = tally(&path);
    assert!(tally.false_positives.is_empty(), "{}", tally.false_positives.join("\n"));
    let share = tally.agreed as f64 / tally.rows as f64;
    assert!(share >= WHOLE_FLOOR, "{share} of all rows agree, {WHOLE_FLOOR} was reached before");
}

/// Derivations, labels and sentences that assert a value, and near misses that do not.
#[test]
fn every_asserted_value_agrees() {
    reaches("assertions.jsonl", 700, 1.0);
}

/// Responses in the manner of current models and of an adversary, written by examiners who did not know the verifier.
#[test]
fn rows_of_independent_examiners_reach_the_floor() {
    reaches("examined.jsonl", 2100, EXAMINED_FLOOR);
    reaches("examined_2.jsonl", 2800, EXAMINED_FLOOR);
    reaches("examined_3.jsonl", 3100, EXAMINED_3_FLOOR);
    reaches("examined_5.jsonl", 2200, EXAMINED_FLOOR);
}

/// Fails if a file of the tests has other rows, fewer that agree, or more false positives than are known.
fn reaches_with_known(file: &str, rows: usize, agreed: usize, known: usize) {
    let tally = tally_of(file);
    assert!(tally.rows == rows && tally.agreed >= agreed, "{file}: {} agree", tally.agreed);
    assert!(tally.false_positives.len() <= known, "{}", tally.false_positives.join("\n"));
}

/// Files of derivations in a box and of hostile rows, with known false positives.
///
/// The fourth: `CO` for `Co`, two orders, and which of two roots is the double one. The sixth: (2, 5) for
/// 2 < x < 5, per mille beside a formula, and a bound. The seventh: 12 in a box for the area, before which the text says
/// perimeter, and 4 m/s in a formula, behind which it says the other direction. The eighth holds pairs in the style of the tests
/// of other graders, and none. The ninth: an option that an edit behind the box replaces, "a dozen 7s", and "double
/// what we found".
#[test]
fn rows_with_known_false_positives_reach_the_floor() {
    reaches_with_known("examined_4.jsonl", 1620, 1587, 4);
    reaches_with_known("examined_6.jsonl", 813, 776, 3);
    reaches_with_known("examined_7.jsonl", 633, 620, 2);
    reaches_with_known("examined_8.jsonl", 678, 676, 0);
    reaches_with_known("examined_9.jsonl", 1478, 1456, 3);
}

/// Rows with their questions, in six sets: questions with choices; endings without marks, also of base models that go on with
/// another question; ground truths of answer keys; boxes. Known: two values in the wrong order, of a question without blanks; a
/// product that a response ends with before its value; two parts with the wrong names; and choices in numbers.
#[test]
fn rows_with_choices_endings_and_answer_keys_reach_the_floor() {
    reaches_with_known("examined_10.jsonl", 1460, 1321, 4);
}

/// Four sets of whole responses: one of them hostile, one of rare notations. Known: `Co` for `CO`, and odds of 1:3 for a probability.
#[test]
fn rows_of_whole_responses_reach_the_floor() {
    reaches_with_known("examined_11.jsonl", 1200, 1167, 2);
}

/// Seven sets of whole responses: ordinary ones, a hostile set, pairs in the style of other graders' tests, two sets of college
/// sciences, two of competitions. Known: the size of a matrix with its rows and columns exchanged.
#[test]
fn rows_of_colleges_and_competitions_reach_the_floor() {
    reaches_with_known("examined_12.jsonl", 1820, 1755, 1);
}

/// Two sets of whole responses, a hostile one and one in the habits of models. First seen, 183 and 195 of 200 agreed, with two
/// false positives: a letter behind a boxed letter, and the derivative of another variable before a box.
#[test]
fn rows_in_the_habits_of_models_reach_the_floor() {
    reaches_with_known("examined_13.jsonl", 400, 391, 0);
}

/// Seven sets: hostile, of olympiads, of universities, in the habits of models, bait for false positives, reward hacks with
/// their questions, and hostile again. First seen, 150, 126, 153 and 183 of 200, 216 and 214 of 240, and 186 of 200
/// agreed, with 28 false positives. Known: `3,141` for 3141; and a fraction over 1, a product with 1 and a residue that
/// repeat or leave open what is asked.
#[test]
fn rows_of_hacks_and_prose_reach_the_floor() {
    reaches_with_known("examined_14.jsonl", 1479, 1279, 4);
}

/// A hostile set, and reward hacks with their questions. First seen, 187 and 153 of 200 agreed, with 16 false positives.
/// Known: signs that are tied in one answer alone; and what takes understanding, as "more than" for "times as many".
#[test]
fn rows_of_second_hacks_reach_the_floor() {
    reaches_with_known("examined_15.jsonl", 400, 348, 12);
}

/// Rows with their questions: answers that repeat the formula to be calculated, and honest ones that share text with the
/// question; several values with labels, of which the question asks for one. Known: a determinant behind a label, and `x` for a multiplication sign.
#[test]
fn rows_that_repeat_the_question_reach_the_floor() {
    reaches_with_known("examined_asked.jsonl", 327, 325, 2);
}

/// Prose without marks, with decoys: each text holds other numbers, which a grader that takes the last one would take. The known
/// false positives are values of what might have been, of another quantity, or of a sign in words.
#[test]
fn rows_with_decoys_reach_the_floor() {
    reaches_with_known("examined_decoys.jsonl", 916, 797, 16);
}
