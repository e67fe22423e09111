//! The 106 pairs recorded from the recipe's own grader: agreement with this crate, deliberate differences, and accuracy
//! of `compat::entropy_recipe` as an imitation of that grader.

use reward_math::compat::entropy_recipe;
use reward_math::{Options, Rung, verify};
use serde::Deserialize;

#[derive(Deserialize)]
struct Vectors {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    response: String,
    ground_truth: serde_json::Value,
    acc: bool,
    extracted: Option<String>,
}

/// Differences of the imitated grader from the recorded one: index, imitated verdict, reason.
const NOT_IMITATED: &[(usize, bool, &str)] = &[
    (17, true, r"`1\,234` is read as 1234 by the ladder that stands in for SymPy and Math-Verify"),
    (63, true, "`2 million` is read by the ladder that stands in for SymPy and Math-Verify"),
];

/// Deliberate disagreements: index, our verdict, reason.
const DISAGREEMENTS: &[(usize, bool, &str)] = &[
    (17, true, r"`1\,234` is 1234 in LaTeX typography; the recipe misses it"),
    (54, true, r"`\boxed 7` is a box of one token; the recipe demands a brace"),
    (55, true, r"`\fbox{7}` is a box; the recipe finds it and then demands `\boxed`"),
    (63, true, "2 million is 2000000; the recipe reads no words"),
    (58, true, r"`\boxed 7` as in 54; the recipe is led astray by the later brace"),
    (
        80,
        false,
        "false positive of the recipe: m and t are deleted as units, yet m + 1 is not t + 1",
    ),
    (
        81,
        false,
        "false positive of the recipe: a and c are deleted as units, yet a + b is not c + b",
    ),
    (83, false, "false positive of the recipe: 2a is not 2"),
    (85, false, "false positive of the recipe: a bare letter o is a variable, not o'clock"),
    (86, false, "false positive of the recipe: ax is not x"),
    (97, false, "two numbers on two lines are not the number 12"),
    (98, false, "two numbers with a space between them are not the number 12"),
];

#[test]
fn verdicts_agree_with_the_recipe_except_where_listed() {
    let text = include_str!("../data/reward_vectors.json");
    let vectors: Vectors = serde_json::from_str(text).unwrap();
    assert_eq!(vectors.cases.len(), 106);
    let mut unexpected = Vec::new();
    assert!(DISAGREEMENTS.iter().all(|(_, _, reason)| !reason.is_empty()));
    for (index, case) in vectors.cases.iter().enumerate() {
        let gold =
            case.ground_truth.as_str().map_or_else(|| case.ground_truth.to_string(), str::to_owned);
        let verdict = verify(&case.response, &gold, &Options::strict());
        let listed = DISAGREEMENTS.iter().find(|row| row.0 == index);
        let expected = listed.map_or(case.acc, |row| row.1);
        assert!(
            listed.is_none_or(|row| row.1 != case.acc),
            "{index}: listed, but the recipe agrees"
        );
        if verdict.is_right() != expected {
            unexpected
                .push(format!("{index} {}: {:?} | {gold} | {verdict:?}", case.name, case.response));
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

#[test]
fn the_recipes_grader_is_imitated_except_where_listed() {
    let vectors: Vectors =
        serde_json::from_str(include_str!("../data/reward_vectors.json")).unwrap();
    let mut unexpected = Vec::new();
    for (index, case) in vectors.cases.iter().enumerate() {
        let gold =
            case.ground_truth.as_str().map_or_else(|| case.ground_truth.to_string(), str::to_owned);
        let score = entropy_recipe(&case.response, &gold);
        let listed = NOT_IMITATED.iter().find(|row| row.0 == index);
        let accepted = score.verdict.is_right();
        if accepted != listed.map_or(case.acc, |row| row.1)
            || listed.is_some_and(|row| row.1 == case.acc)
        {
            unexpected
                .push(format!("{index} {}: {:?} | {gold} | {accepted}", case.name, case.response));
        }
        assert_eq!(score.extracted, case.extracted, "{index} {}", case.name);
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}

/// Returns true if the two are equal as texts, after units are deleted and fractions rewritten.
fn accepts(answer: &str, ground_truth: &str) -> bool {
    let verdict = entropy_recipe(&format!("\\boxed{{{answer}}}"), ground_truth).verdict;
    verdict.is_right() && verdict.how().is_some_and(|how| how.rung == Rung::Spelling)
}

#[test]
fn units_are_deleted_between_words_alone() {
    assert!(accepts("5 cm", "5") && !accepts("5cm", "5") && accepts("m + 1", "t + 1"));
    // A text that consists only of units is kept.
    assert!(accepts("\\text{cm}", "cm") && !accepts("\\text{cm}", "m"));
}

#[test]
fn fractions_and_roots_get_their_braces() {
    for half in ["\\frac12", "\\dfrac{1}{2}", "1/2", "0.5"] {
        assert!(accepts(half, "\\frac{1}{2}"), "{half}");
    }
    assert!(accepts("\\sqrt2", "\\sqrt{2}"));
}
