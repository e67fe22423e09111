//! Equal questions from every kind of row and file.

use crate::read_questions;
use model_files::chat_template::Message;
use proptest::prelude::*;
use question_data::data_check::{CheckOptions, check_data};
use question_data::dataset::{Question, QuestionFile};
use workspace_tests::files::{folder, message};

use crate::data;

/// Returns the questions of a file, and the layout that was recognised.
fn read(file: &QuestionFile) -> (Vec<Question>, String) {
    let report = check_data(file, CheckOptions::default()).expect("the rows can be read");
    (read_questions(file).expect("the rows are good").questions, report.layout)
}

fn read_line(line: &str) -> (Question, String) {
    let folder = folder(&[("set.jsonl", line)]);
    let (mut questions, layout) = read(&QuestionFile::new(folder.path().join("set.jsonl")));
    (questions.remove(0), layout)
}

#[test]
fn known_rows_are_recognised_by_their_columns() {
    let cases = [
        (r#"{"problem": "P", "answer": "4", "solution": "x"}"#, "problem + answer"),
        (r#"{"question": "P", "answer": "2+2\n#### 4"}"#, "question + answer"),
        (
            r#"{"prompt": [{"role": "user", "content": "P"}], "reward_model": {"ground_truth": 4, "style": "rule"},
                "question": "not this", "answer": "nor this"}"#,
            "prompt + reward_model.ground_truth",
        ),
        (r#"{"prompt": "P", "answer": "4"}"#, "prompt + answer"),
        (
            r#"{"messages": [{"role": "user", "content": "P"}], "ground_truth": ["4"], "dataset": ["gsm8k"]}"#,
            "messages + ground_truth",
        ),
        (
            r#"{"messages": [{"role": "user", "content": "P"}, {"role": "assistant", "content": "so #### 4"}]}"#,
            "messages, answered in the last turn",
        ),
    ];
    for (line, expected) in cases {
        let (question, layout) = read_line(&line.replace('\n', " "));
        assert_eq!(layout, expected);
        assert_eq!((question.problem.as_str(), question.answer.as_str()), ("P", "4"), "{line}");
        assert_eq!(question.context, [], "{line}");
    }
}

#[test]
fn rows_name_themselves_and_their_source() {
    let verl = r#"{"data_source": "aime", "prompt": "P", "reward_model": {"ground_truth": "4"}, "extra_info": {"index": 7}}"#;
    let (question, _) = read_line(verl);
    assert_eq!((question.id.as_str(), question.source.as_str()), ("7", "aime"));
    let listed = r#"{"messages": "P", "ground_truth": ["4"], "dataset": ["gsm8k"], "id": null}"#;
    let (question, _) = read_line(listed);
    assert_eq!((question.id.as_str(), question.source.as_str()), ("set-1", "gsm8k"));
}

#[test]
fn turns_before_the_last_user_are_kept_as_context() {
    let (question, _) = read_line(
        r#"{"prompt": [{"role": "system", "content": "S"}, {"role": "user", "content": "1+1"},
            {"role": "assistant", "content": "2"}, {"role": "user", "content": "2+2"}], "answer": "4"}"#
            .replace('\n', " ")
            .as_str(),
    );
    let turns = [("system", "S"), ("user", "1+1"), ("assistant", "2")];
    assert_eq!(question.context, turns.map(|(role, content)| Message::new(role, content)));
    assert_eq!(question.problem, "2+2");
    assert_eq!(question.text(), "1+1\n2\n2+2");
}

#[test]
fn named_columns_are_taken_and_may_lie_inside() {
    let line = r#"{"problem": "not this", "task": {"text": "P", "gold": "4"}}"#;
    let folder = folder(&[("set.jsonl", line)]);
    let mut file = QuestionFile::new(folder.path().join("set.jsonl"));
    file.problem_field = "task.text".into();
    file.answer_field = "task.gold".into();
    let (questions, layout) = read(&file);
    assert_eq!(layout, "task.text + task.gold");
    assert_eq!((questions[0].problem.as_str(), questions[0].answer.as_str()), ("P", "4"));
}

#[test]
fn columns_that_are_not_known_are_listed() {
    let cases = [
        (
            r#"{"text": "P", "reward_model": {"style": "rule"}, "answer": "4"}"#,
            "DIR/set.jsonl:1: no column holds the question: found answer, reward_model.style, text, expected one of \
             problem, question, prompt, messages (problem_field names another)",
        ),
        (
            r#"{"problem": "P", "solution": "4"}"#,
            "DIR/set.jsonl:1: no column holds the answer: found problem, solution, expected one of answer, \
             reward_model.ground_truth, ground_truth, tests, test_list, test_cases, input_output (answer_field names \
             another)",
        ),
    ];
    for (line, expected) in cases {
        let folder = folder(&[("set.jsonl", line)]);
        let file = QuestionFile::new(folder.path().join("set.jsonl"));
        assert_eq!(message(read_questions(&file), folder.path()), expected);
    }
}

#[test]
fn conversations_that_are_none_name_the_turn() {
    let cases = [
        (r#"[{"role": "user"}]"#, "field `prompt[0].content` is missing"),
        (
            r#"[{"role": "user", "content": [{"type": "image"}]}]"#,
            "field `prompt[0].content` is [{\"type\":\"image\"}], expected text or a number",
        ),
        (
            r#"[{"role": "human", "content": "P"}]"#,
            "field `prompt[0].role` is \"human\", expected \"system\", \"user\" or \"assistant\"",
        ),
        (
            r#"[{"role": "user", "content": "P"}, {"role": "assistant", "content": "4"}]"#,
            "field `prompt` ends in a turn of \"assistant\", expected one of \"user\" there",
        ),
        ("[]", "field `prompt` has no turn, expected one of \"user\" there"),
    ];
    for (prompt, expected) in cases {
        let line = format!("{{\"prompt\": {prompt}, \"answer\": \"4\"}}");
        let folder = folder(&[("set.jsonl", &line)]);
        let file = QuestionFile::new(folder.path().join("set.jsonl"));
        let expected = format!("DIR/set.jsonl:1: {expected}");
        assert_eq!(message(read_questions(&file), folder.path()), expected);
    }
}

/// The tables were written by pyarrow: `tests/data/tables/make_tables.py`.
#[test]
fn tables_of_verl_are_read_in_either_packing() {
    let read_table = |name: &str| read(&QuestionFile::new(data("tables").join(name)));
    let (questions, layout) = read_table("verl_snappy.parquet");
    assert_eq!(layout, "prompt + reward_model.ground_truth");
    let first = Question {
        id: "9a9b".into(),
        problem: "What is $2+2$?".into(),
        answer: "4".into(),
        source: "math_dapo".into(),
        context: Vec::new(),
    };
    let second = Question {
        id: "77".into(),
        problem: "设 $x=3$。求 $x^2$。".into(),
        answer: "9".into(),
        source: "aime".into(),
        context: vec![Message::new("system", "Box your answer.")],
    };
    assert_eq!(questions, [first, second]);
    assert_eq!(read_table("verl_zstd_v2.parquet").0, questions);
}

#[test]
fn tables_in_several_row_groups_are_read_whole() {
    let mut file = QuestionFile::new(data("tables/plain.parquet"));
    let (questions, layout) = read(&file);
    assert_eq!(layout, "question + answer");
    assert_eq!(questions.len(), 300);
    for (index, question) in (1..).zip(&questions) {
        assert_eq!(question.id, index.to_string());
        assert_eq!(question.problem, format!("What is {index}+{index}?"));
        assert_eq!(question.answer, format!("{}.0", 2 * index));
        assert_eq!(question.source, "plain");
    }
    file.limit = 130;
    assert_eq!(read(&file).0, questions[..130]);
}

#[test]
fn a_prompt_of_plain_text_in_a_table_is_one_turn() {
    let (questions, layout) = read(&QuestionFile::new(data("tables/prompt_text.parquet")));
    assert_eq!(layout, "prompt + ground_truth");
    assert_eq!(
        (questions[0].problem.as_str(), questions[0].answer.as_str()),
        ("What is 1+1?", "2")
    );
}

#[test]
fn tables_that_cannot_be_read_say_why() {
    let folder = folder(&[("text.parquet", "this is no table"), ("empty.parquet", "")]);
    let mut cut = std::fs::read(data("tables/verl_snappy.parquet")).unwrap();
    cut.truncate(cut.len() - 4);
    std::fs::write(folder.path().join("cut.parquet"), cut).unwrap();
    let read = |name: &str| {
        message(read_questions(&QuestionFile::new(folder.path().join(name))), folder.path())
    };
    for name in ["text.parquet", "empty.parquet", "cut.parquet"] {
        let text = read(name);
        assert!(text.starts_with(&format!("DIR/{name}: cannot read: as parquet: ")), "{text}");
    }
    // The reader itself panics at this byte.
    let mut damaged = std::fs::read(data("tables/verl_snappy.parquet")).unwrap();
    damaged[51] = 0;
    std::fs::write(folder.path().join("damaged.parquet"), damaged).unwrap();
    let text = read("damaged.parquet");
    assert!(
        text.starts_with("DIR/damaged.parquet: cannot read: as parquet: damaged page: "),
        "{text}"
    );
    let packed = message(
        read_questions(&QuestionFile::new(data("tables/plain_gzip.parquet"))),
        &data("tables"),
    );
    assert!(packed.contains("GZIP") || packed.contains("gzip"), "{packed}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// With any damage to the bytes, reading ends in rows or in an error.
    #[test]
    fn damaged_tables_end_in_an_error_or_in_rows(
        table in prop::sample::select(vec!["verl_snappy.parquet", "verl_zstd_v2.parquet"]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
    ) {
        let mut bytes = std::fs::read(data("tables").join(table)).expect("it is there");
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let folder = folder(&[]);
        let path = folder.path().join(table);
        std::fs::write(&path, bytes).expect("the folder can be written");
        let _ended = read_questions(&QuestionFile::new(path));
    }
}
