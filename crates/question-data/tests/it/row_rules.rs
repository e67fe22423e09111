//! Rules for bad and repeated rows.

use crate::read_questions;
use proptest::prelude::*;
use question_data::dataset::{BadRows, Duplicates, QuestionFile, QuestionSet};
use question_data::ground_truth::{ExactMatch, Normalisation, RewardKind, RewardKinds};
use workspace_tests::files::{folder, message};

const GOOD: &str = r#"{"problem": "p", "answer": "4"}"#;

fn read(lines: &[String], rules: impl Fn(&mut QuestionFile)) -> Result<QuestionSet, String> {
    let folder = folder(&[("set.jsonl", &lines.join("\n"))]);
    let mut file = QuestionFile::new(folder.path().join("set.jsonl"));
    rules(&mut file);
    match read_questions(&file) {
        Ok(set) => Ok(set),
        failed => Err(message(failed, folder.path())),
    }
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

fn row(problem: &str, answer: &str) -> String {
    serde_json::json!({"problem": problem, "answer": answer}).to_string()
}

#[test]
fn all_bad_rows_are_reported_in_one_message() {
    let bad = lines(&[
        GOOD,
        "",
        r#"{"problem": "p", "answer": ""}"#,
        "[1]",
        r#"{"problem": "p", "answer": "\\frac{1}{0}"}"#,
        r#"{"answer": "4"}"#,
    ]);
    let text = read(&bad, |_| {}).unwrap_err();
    let message_lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        message_lines[0],
        "DIR/set.jsonl: 4 of 5 rows are invalid (bad_rows = \"drop\" leaves them out):"
    );
    assert_eq!(message_lines[1], "  DIR/set.jsonl:3: field `answer` is empty, expected text");
    assert!(message_lines[2].starts_with("  DIR/set.jsonl:4: not a JSON object: "), "{text}");
    assert!(
        message_lines[3]
            .starts_with("  DIR/set.jsonl:5: answer \"\\\\frac{1}{0}\" cannot be read: "),
        "{text}"
    );
    assert_eq!(
        message_lines[4],
        "  DIR/set.jsonl:6: field `problem` is missing, the row has answer"
    );
    assert_eq!(message_lines.len(), 5);
}

/// Only its exact spelling could earn a reward.
#[test]
fn a_formula_that_cannot_be_read_is_refused_by_row() {
    let bad = vec![
        GOOD.to_owned(),
        row("p", r"\oint_C x^2"),
        row("q", r"\begin{foo}3\end{foo}"),
        row("r", "the ellipse"),
    ];
    let text = read(&bad, |_| {}).unwrap_err();
    assert!(text.starts_with("DIR/set.jsonl: 2 of 4 rows are invalid"), "{text}");
    for (line, answer) in [(2, r"\\oint_C"), (3, r"\\begin{foo}")] {
        let begins = format!("DIR/set.jsonl:{line}: answer \"{answer}");
        assert!(text.contains(&begins), "{text}");
    }
}

#[test]
fn a_long_list_of_bad_rows_is_cut_and_counted() {
    let mut bad = vec![GOOD.to_owned()];
    bad.extend((0..25).map(|_| r#"{"problem": "p"}"#.to_owned()));
    let text = read(&bad, |_| {}).unwrap_err();
    assert_eq!(text.lines().count(), 12);
    assert!(text.contains("25 of 26 rows"), "{text}");
    assert!(text.ends_with("\n  and 15 more"), "{text}");
}

#[test]
fn bad_rows_are_left_out_and_counted_where_the_rule_says_so() {
    let bad = lines(&[GOOD, "{", r#"{"problem": "q", "answer": "5"}"#]);
    let set = read(&bad, |file| file.bad_rows = BadRows::Drop).unwrap();
    assert_eq!(set.questions.len(), 2);
    assert_eq!(set.questions[1].id, "set-3", "ids keep the number of the row");
    assert_eq!(set.bad_rows.len(), 1);
    let notes = set.notes();
    assert!(
        notes[0].starts_with("1 bad rows were left out, the first is 2: not a JSON"),
        "{notes:?}"
    );
    let none = read(&bad[1..2], |file| file.bad_rows = BadRows::Drop).unwrap_err();
    assert!(none.starts_with("DIR/set.jsonl:1: not a JSON object"), "{none}");
}

/// Returns `a` three times with the same answer, `b` twice with different ones, and `c ± 1` as two questions.
fn repeated() -> Vec<String> {
    vec![
        row("What is a?", "1/2"),
        row("what is  $a$?", "0.5"),
        row("b?", "1"),
        row("c + 1", "2"),
        row("What is a", "\\frac{1}{2}"),
        row("b ?", "2"),
        row("c - 1", "0"),
    ]
}

#[test]
fn questions_that_stand_there_twice_are_counted_and_kept() {
    let set = read(&repeated(), |_| {}).unwrap();
    assert_eq!((set.questions.len(), set.repeated, set.conflicting, set.dropped), (7, 2, 1, 0));
    assert_eq!(
        set.notes(),
        [
            "2 questions stand there more than once, 1 of them with different answers; 0 rows were left out for it"
        ]
    );
    assert!(read(&repeated()[2..4], |_| {}).unwrap().notes().is_empty());
}

#[test]
fn dropping_keeps_the_first_and_none_of_those_that_contradict_each_other() {
    let set = read(&repeated(), |file| file.duplicates = Duplicates::Drop).unwrap();
    let problems: Vec<&str> = set.questions.iter().map(|q| q.problem.as_str()).collect();
    assert_eq!(problems, ["What is a?", "c + 1", "c - 1"]);
    assert_eq!((set.repeated, set.conflicting, set.dropped), (2, 1, 4));
}

#[test]
fn refusing_names_the_rows() {
    assert_eq!(
        read(&repeated(), |file| file.duplicates = Duplicates::Error).unwrap_err(),
        "DIR/set.jsonl: 2 questions stand there more than once, expected each once where duplicates is \"error\": \
         rows 1 = 2 = 5, rows 3 = 6"
    );
}

proptest! {
    /// Dropping never loses a question without contradiction, and leaves no two alike.
    #[test]
    fn dropping_leaves_each_question_once(picks in prop::collection::vec((0_u8..6, 0_u8..2), 1..40)) {
        let rows: Vec<String> =
            picks.iter().map(|(problem, answer)| row(&format!("q{problem}"), &answer.to_string())).collect();
        let consistent = |problem: u8| {
            let mut answers = picks.iter().filter(|pick| pick.0 == problem).map(|pick| pick.1);
            let first = answers.next();
            first.is_some() && answers.all(|answer| Some(answer) == first)
        };
        let expected: Vec<String> = {
            let mut seen = Vec::new();
            for &(problem, _) in &picks {
                if consistent(problem) && !seen.contains(&format!("q{problem}")) {
                    seen.push(format!("q{problem}"));
                }
            }
            seen
        };
        let outcome = read(&rows, |file| file.duplicates = Duplicates::Drop);
        if expected.is_empty() {
            prop_assert!(outcome.unwrap_err().ends_with("no questions, expected at least one row"));
        } else {
            let problems: Vec<String> = outcome.unwrap().questions.into_iter().map(|q| q.problem).collect();
            prop_assert_eq!(problems, expected);
        }
    }
}

#[test]
fn known_answers_are_refused_where_they_are_none_of_their_kind() {
    let rows = r#"{"id": "a", "problem": "p", "answer": "(B)", "data_source": "letters"}
{"id": "b", "problem": "q", "answer": "12", "data_source": "letters"}
{"id": "c", "problem": "r", "answer": "...", "data_source": "texts"}
{"id": "d", "problem": "s", "answer": "the blue one", "data_source": "texts"}
{"id": "e", "problem": "t", "answer": "12", "data_source": "sums"}
"#;
    let folder = folder(&[("mixed.jsonl", rows)]);
    let words = ExactMatch { normalisation: Normalisation::Words };
    let by_source = [
        ("letters".to_owned(), RewardKind::MultipleChoice),
        ("texts".to_owned(), RewardKind::ExactMatch(words)),
    ];
    let kinds = RewardKinds { otherwise: RewardKind::Math, by_source: by_source.into() };
    let mut file = QuestionFile::new(folder.path().join("mixed.jsonl"));
    let text = message(question_data::dataset::read_questions(&file, &kinds), folder.path());
    assert!(text.contains("2 of 5 rows"), "{text}");
    assert!(text.contains("expected the letter of a choice") && text.contains("empty"), "{text}");
    file.bad_rows = BadRows::Drop;
    let ids: Vec<String> = question_data::dataset::read_questions(&file, &kinds)
        .unwrap()
        .questions
        .into_iter()
        .map(|question| question.id)
        .collect();
    assert_eq!(ids, ["a", "d", "e"]);
}
