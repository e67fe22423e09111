//! Tests that `check_data` finds each kind of defect, and those of the real files if present.

use std::path::{Path, PathBuf};

use model_files::text_tokenizer::TextTokenizer;
use proptest::prelude::*;
use question_data::data_check::{CheckOptions, DataReport, PhrasePlace, check_data};
use question_data::dataset::{Duplicates, QuestionFile};
use question_data::ground_truth::{ExactMatch, Normalisation, RewardKind, RewardKinds};
use serde_json::json;

const TAIL: &str = "Let's think step by step and output the final answer within \\boxed{}.";

/// One row for each defect; the comment is the row.
fn defects() -> Vec<String> {
    let row =
        |problem: &str, answer: &str| json!({"problem": problem, "answer": answer}).to_string();
    let long = "A train leaves the station at noon and travels north at sixty miles an hour";
    vec![
        row("Find $x$ if $x^2 - 1 = 0$ and $x > 0$.", "1"), // 1
        row("Find $x$ if $x^2 - 1 = 0$ and $x > 0$.", "1"), // 2: the text of 1
        row("find x if \\(x^{2}-1=0\\) and x>0.", "01"),    // 3: the question of 1, a leading zero
        row("Find $x$ if $x^2 + 1 = 0$ and $x > 0$.", "0"), // 4: a sign apart from 1
        row("What is the sum?", "7"),                       // 5
        row("What is  the sum?", "8"),                      // 6: contradicts 5
        row("设 x=3, 求 x 的平方", "9"),                    // 7: Chinese
        row("What is half of one?", "\\frac12"),            // 8
        row("What is a half?", ""),                         // 9: empty answer
        row("What is a third?", "\\frac{1}{0}"),            // 10: no value
        json!({"answer": "4"}).to_string(),                 // 11: no problem
        "{\"problem\": ".to_owned(),                        // 12: not JSON
        row(&format!("{long} until evening. How far is it?"), "300.5"), // 13
        row(&format!("Which is prime? {TAIL}"), "B"),       // 14
        row(&format!("Which is even? {TAIL}"), "C"),        // 15
        row(&format!("Which is odd? {TAIL}"), "\\text{(A)}"), // 16
        row("What is \u{c}rac{1}{2} of 6?", "3"),           // 17: \f was taken for a form feed
    ]
}

fn write(folder: &Path, name: &str, lines: &[String]) -> QuestionFile {
    let path = folder.join(name);
    std::fs::write(&path, lines.join("\n")).expect("the folder can be written");
    QuestionFile::new(path)
}

fn check(lines: &[String], against: Option<&[String]>) -> DataReport {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = write(folder.path(), "set.jsonl", lines);
    let held_out = against.map(|lines| write(folder.path(), "held_out.jsonl", lines));
    let options = CheckOptions { against: held_out.as_ref(), ..CheckOptions::default() };
    let mut report = check_data(&file, options).expect("the files can be read");
    "set.jsonl".clone_into(&mut report.file);
    if let Some(overlap) = &mut report.overlap {
        "held_out.jsonl".clone_into(&mut overlap.against);
    }
    report
}

#[test]
fn each_kind_of_defect_is_found_by_its_row() {
    let report = check(&defects(), None);
    assert_eq!((report.rows, report.questions), (17, 13));
    let rows = |findings: &[question_data::data_check::RowFinding]| -> Vec<usize> {
        findings.iter().map(|finding| finding.row).collect()
    };
    assert_eq!(rows(&report.unusable), [9, 11, 12]);
    assert_eq!(rows(&report.unreadable_answers), [10]);
    assert_eq!(report.exact_duplicates.groups, [[1, 2]]);
    assert_eq!(report.same_question.groups, [vec![1, 2, 3], vec![5, 6]]);
    assert_eq!(report.same_question.surplus_rows(), 3);
    assert_eq!(report.same_question.distinct, 10);
    let conflicts: Vec<_> =
        report.conflicts.iter().map(|c| (c.rows.as_slice(), c.answers.as_slice())).collect();
    assert_eq!(conflicts, [(&[5, 6][..], &["7".to_owned(), "8".to_owned()][..])], "1 = 01");
    assert_eq!(report.signs_apart.groups, [[1, 2, 3, 4]]);
    assert_eq!(report.broken_escapes, [17]);
    let scripts: Vec<_> = report.scripts.iter().map(|s| (s.script, s.rows.as_slice())).collect();
    assert_eq!(scripts, [("han", &[7][..])]);
    let answers = &report.answers;
    assert_eq!((answers.integers, answers.leading_zeros, answers.decimals), (8, 1, 1));
    assert_eq!((answers.letters, answers.others), (2, 2));
    let tail = report.phrases.iter().find(|phrase| phrase.text == TAIL);
    let tail = tail.expect("the ending is shared");
    assert_eq!((tail.place, tail.rows.as_slice()), (PhrasePlace::Ending, &[14, 15, 16][..]));
    let boxed = report.phrases.iter().find(|phrase| phrase.text == "\\boxed");
    assert_eq!(boxed.expect("it stands there").rows, [14, 15, 16]);
    assert!(!report.is_clean());
}

/// By mathematics alone, a letter is a formula and a name of two words is unreadable or means something else.
#[test]
fn answers_are_read_by_the_kind_of_their_source() {
    let row = |problem: &str, answer: &str, source: &str| {
        json!({"problem": problem, "answer": answer, "data_source": source}).to_string()
    };
    let lines = [
        row("Which is a city?", "(B)", "choices"),             // 1
        row("Which is a city?", "b", "choices"),               // 2: the answer of 1
        row("Which is a river?", "Seine", "choices"),          // 3: no letter
        row("Who wrote Emma?", "Jane Austen", "names"),        // 4
        row("Who wrote Emma?", " the  jane austen.", "names"), // 5: the answer of 4
        row("Who wrote Emma?", "Anne", "names"),               // 6: another
        row("How much is a half?", "\\frac{1}{0}", "sums"),    // 7: no value
        row("How much is a half, as text?", "\\frac{1}{0}", "names"), // 8: any text will do
    ];
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "set.jsonl", &lines);
    let words = ExactMatch { normalisation: Normalisation::Words };
    let by_source = [
        ("choices".to_owned(), RewardKind::MultipleChoice),
        ("names".to_owned(), RewardKind::ExactMatch(words)),
    ];
    let kinds = RewardKinds { otherwise: RewardKind::Math, by_source: by_source.into() };
    let options = CheckOptions { kinds: Some(&kinds), ..CheckOptions::default() };
    let report = check_data(&file, options).unwrap();
    let unreadable: Vec<usize> = report.unreadable_answers.iter().map(|f| f.row).collect();
    assert_eq!(unreadable, [3, 7]);
    let conflicts: Vec<&[usize]> = report.conflicts.iter().map(|c| c.rows.as_slice()).collect();
    assert_eq!(conflicts, [[4, 5, 6]]);
    assert_eq!(report.same_question.groups, [vec![1, 2], vec![4, 5, 6]]);

    let as_mathematics = check_data(&file, CheckOptions::default()).unwrap();
    assert!(as_mathematics.unreadable_answers.iter().any(|finding| finding.row == 8));
}

#[test]
fn the_table_says_it_all() {
    let held_out = vec![defects()[4].clone()];
    insta::assert_snapshot!(check(&defects(), Some(&held_out)).to_string());
}

/// Answers and names of columns are a stranger's: they commanded the terminal.
#[test]
fn the_table_commands_no_terminal() {
    let hostile = "\u{1b}]0;x\u{7}\nerror: 2\r";
    let row = |answer: &str| json!({"problem": "What?", "answer": answer, hostile: 1}).to_string();
    let no_answer = json!({"problem": "Why?", hostile: 1}).to_string();
    let table = check(&[row(hostile), row("2"), no_answer], None).to_string();
    assert!(table.contains("rows 1: \\u{1b}]0;x\\u{7}\\nerror: 2\\r, 2: 2"), "{table}");
    assert!(!table.contains(|c: char| c.is_control() && c != '\n'), "{table}");
    assert!(!table.contains("\nerror"), "{table}");
}

#[test]
fn questions_of_the_evaluation_set_are_recognised_by_text_and_by_long_runs() {
    let row = |problem: &str| json!({"problem": problem, "answer": "1"}).to_string();
    let long = "A train leaves the station at noon and travels north at sixty miles an hour";
    let held_out = vec![
        row("what is the SUM"),       // the letters of 5 and 6
        row(&format!("{long} now?")), // mostly from 13
        row("An unheard question"),
        row(&format!(
            "Short head: {long}, so long as it stays light and the weather is good and dry \
                      and warm and the coal lasts and nobody stops it on its long way to the north"
        )),
    ];
    let overlap = check(&defects(), Some(&held_out)).overlap.expect("it was asked for");
    assert_eq!((overlap.questions, overlap.known), (4, 2));
    assert_eq!((overlap.same_letters, overlap.shared_ngrams), (1, 1));
    let pairs: Vec<(usize, usize, bool)> = overlap
        .pairs
        .iter()
        .map(|pair| (pair.evaluation_row, pair.training_row, pair.same_letters))
        .collect();
    assert_eq!(pairs, [(1, 5, true), (2, 13, false)]);
    assert_eq!(overlap.rows_to_drop, [5, 6, 13]);
}

#[test]
fn lengths_are_tokens_where_a_tokenizer_is_given() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "set.jsonl", &defects());
    let tokenizer = TextTokenizer::load(&crate::tiny_model()).unwrap();
    let tokenizer = Some(&tokenizer);
    let options = CheckOptions { tokenizer, max_length: 50, ..CheckOptions::default() };
    let lengths = check_data(&file, options).unwrap().lengths.unwrap();
    // The tiny tokenizer has a token a byte: the Chinese question is longer than its characters.
    assert_eq!((lengths.unit, lengths.min, lengths.over_limit), ("tokens", 16, 4));
    let lengths = check(&defects(), None).lengths.unwrap();
    assert_eq!((lengths.unit, lengths.min), ("characters", 14));
}

/// Contradictions were dropped by the run, which then had no question, and accepted by the check.
#[test]
fn a_file_is_refused_where_a_run_would_drop_all_of_it() {
    let row =
        |problem: &str, answer: &str| json!({"problem": problem, "answer": answer}).to_string();
    let rows = [row("What is the sum?", "7"), row("What is  the sum?", "8")];
    let folder = tempfile::tempdir().unwrap();
    let mut file = write(folder.path(), "set.jsonl", &rows);
    let report = check_data(&file, CheckOptions::default()).unwrap();
    assert_eq!(report.refusal(&file), None);
    file.duplicates = Duplicates::Drop;
    let refusal = report.refusal(&file).expect("no question is left");
    let expected = crate::read_questions(&file).expect_err("no question is left").to_string();
    assert!(expected.starts_with(&refusal) && refusal.contains("no questions"), "{refusal}");
}

#[test]
fn a_file_without_defects_is_clean() {
    let row =
        |n: usize| json!({"problem": format!("What is {n}+{n}?"), "answer": 2 * n}).to_string();
    let rows: Vec<String> = (1..9).map(row).collect();
    assert!(check(&rows, Some(&[row(77)])).is_clean());
    assert!(!check(&rows, Some(&[row(3)])).is_clean());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// No question is known any more once the reported rows are removed.
    #[test]
    fn nothing_is_known_once_the_rows_are_dropped(
        training in prop::collection::vec(prop::collection::vec(0_u8..3, 5..40), 1..12),
        held_out in prop::collection::vec(prop::collection::vec(0_u8..3, 5..40), 1..6),
    ) {
        let rows = |texts: &[Vec<u8>]| -> Vec<String> {
            let text = |words: &[u8]| words.iter().map(|word| format!("w{word}")).collect::<Vec<_>>().join(" ");
            texts.iter().map(|words| json!({"problem": text(words), "answer": "1"}).to_string()).collect()
        };
        let (training, held_out) = (rows(&training), rows(&held_out));
        let overlap = check(&training, Some(&held_out)).overlap.expect("it was asked for");
        let left: Vec<String> = (1..)
            .zip(&training)
            .filter(|(row, _)| !overlap.rows_to_drop.contains(row))
            .map(|(_, line)| line.clone())
            .collect();
        if !left.is_empty() {
            prop_assert_eq!(check(&left, Some(&held_out)).overlap.map(|overlap| overlap.known), Some(0));
        }
    }
}

fn shared(name: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    let path = folder.join(format!("{name}.jsonl.zst"));
    if !path.exists() {
        eprintln!("absent, not checked: {}", path.display());
        return None;
    }
    Some(path)
}

/// The expected counts were computed independently, in Python, when the data were collected.
#[test]
fn the_real_defects_of_dapo_math_are_found_where_it_is_at_hand() {
    let Some(path) = shared("dapo_math_17k") else { return };
    let against = shared("amc23").map(QuestionFile::new);
    let options = CheckOptions { against: against.as_ref(), ..CheckOptions::default() };
    let report = check_data(&QuestionFile::new(path), options).unwrap();
    assert_eq!((report.rows, report.questions), (17_917, 17_917));
    assert_eq!(report.answers.integers, 17_917, "every answer is an integer");
    assert_eq!(
        (report.exact_duplicates.distinct, report.exact_duplicates.groups.len()),
        (17_290, 596)
    );
    // By letters and digits alone it would be 16,305 distinct, 1,466 repeated and 30 conflicting: four of the
    // conflicts are questions that differ in a sign.
    assert_eq!((report.same_question.distinct, report.same_question.groups.len()), (16_350, 1425));
    assert_eq!(report.conflicts.len(), 26);
    assert_eq!(report.signs_apart.distinct, 16_305);
    assert_eq!(report.broken_escapes.len(), 649);
    assert_eq!(report.scripts[0].script, "han");
    assert_eq!(report.scripts[0].rows.len(), 3432);
    if let Some(overlap) = report.overlap {
        assert_eq!((overlap.questions, overlap.same_letters, overlap.shared_ngrams), (40, 8, 24));
        assert_eq!(overlap.known, 24);
    }
}

#[test]
fn the_real_defects_of_smaller_files_are_found_where_they_are_at_hand() {
    if let (Some(train), Some(test)) = (shared("math_train"), shared("math_test")) {
        let against = QuestionFile::new(test);
        let options = CheckOptions { against: Some(&against), ..CheckOptions::default() };
        let report = check_data(&QuestionFile::new(train), options).unwrap();
        assert_eq!(report.unusable.len(), 2, "{:?}", report.unusable);
        assert_eq!(
            report.overlap.expect("it was asked for").same_letters,
            10,
            "nine, one of them twice"
        );
    }
    if let Some(path) = shared("deepscaler_sub1209") {
        let report = check_data(&QuestionFile::new(path), CheckOptions::default()).unwrap();
        assert_eq!(report.unusable.len(), 1, "{:?}", report.unusable);
        let tail = report.phrases.iter().find(|phrase| phrase.place == PhrasePlace::Ending);
        assert!(tail.expect("the tail is found").text.ends_with(TAIL));
    }
}
