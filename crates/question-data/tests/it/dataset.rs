use std::collections::HashSet;
use std::path::Path;

use crate::read_questions;
use question_data::arithmetic::{ArithmeticTask, Operation, Split};
use question_data::dataset::{Question, QuestionFile};
use workspace_tests::files::{folder, message};

use crate::data;

fn read(content: &str) -> Result<Vec<Question>, String> {
    let folder = folder(&[("set.jsonl", content)]);
    read_questions(&QuestionFile::new(folder.path().join("set.jsonl")))
        .map(|set| set.questions)
        .map_err(|error| error.to_string().replace(&folder.path().display().to_string(), "DIR"))
}

#[test]
fn lines_become_questions_with_defaults_for_id_and_source() {
    let questions = read(
        "{\"id\": \"q\", \"problem\": \"2+2?\", \"answer\": \"4\", \"source\": \"s/t\", \"level\": 1}\n\n\
         {\"problem\": \"3+3?\", \"answer\": 6}\n",
    )
    .unwrap();
    let question = |id: &str, problem: &str, answer: &str, source: &str| Question {
        id: id.into(),
        problem: problem.into(),
        answer: answer.into(),
        source: source.into(),
        context: Vec::new(),
    };
    assert_eq!(questions[0], question("q", "2+2?", "4", "s/t"));
    assert_eq!(questions[1], question("set-3", "3+3?", "6", "set"));
}

#[test]
fn raw_gsm8k_solutions_give_what_follows_the_marks() {
    let questions = read(r#"{"question": "Q", "answer": "6*12 = 72.\n#### 1,072"}"#).unwrap();
    assert_eq!((questions[0].problem.as_str(), questions[0].answer.as_str()), ("Q", "1,072"));
}

/// The reference `zstd` packed `three.jsonl.zst` from three lines.
#[test]
fn several_accepted_answers_are_one_answer() {
    let lines = r#"{"question": "Q", "answer": ["1/2", "0.5"]}
{"question": "R", "answer": ["\\sqrt2"]}"#;
    let answers: Vec<String> = read(lines).unwrap().into_iter().map(|q| q.answer).collect();
    assert_eq!(answers, [r#"["1/2","0.5"]"#, r"\sqrt2"]);
    let error = read(r#"{"question": "Q", "answer": ["1/2", "\\oint x"]}"#).unwrap_err();
    assert!(error.contains("set.jsonl:1"), "{error}");
}

#[test]
fn packed_lines_are_read_and_limited() {
    let mut file = QuestionFile::new(data("three.jsonl.zst"));
    let questions = read_questions(&file).unwrap().questions;
    assert_eq!(questions.iter().map(|q| q.answer.as_str()).collect::<Vec<_>>(), ["2", "4", "6"]);
    assert_eq!(questions[0].source, "three");
    file.limit = 2;
    assert_eq!(read_questions(&file).unwrap().questions.len(), 2);
}

#[test]
fn bad_lines_name_file_line_and_field() {
    let good = "{\"problem\": \"p\", \"answer\": \"a\"}\n";
    let cases = [
        (r#"{"problem": "p"}"#, "DIR/set.jsonl:2: field `answer` is missing, the row has problem"),
        (
            r#"{"problem": "p", "answer": null}"#,
            "DIR/set.jsonl:2: field `answer` is null, expected a value",
        ),
        (
            r#"{"problem": " ", "answer": "a"}"#,
            "DIR/set.jsonl:2: field `problem` is empty, expected text",
        ),
        (
            r#"{"problem": "p", "answer": [1,2]}"#,
            "DIR/set.jsonl:2: field `answer` is [1,2], expected text or a number",
        ),
        (
            r#"{"problem": "p", "answer": "x ####"}"#,
            "DIR/set.jsonl:2: field `answer` ends in ####, expected the answer after it",
        ),
    ];
    for (line, expected) in cases {
        assert_eq!(read(&format!("{good}{line}\n")).unwrap_err(), expected);
    }
    let text = read(&format!("{good}[1, 2]\n")).unwrap_err();
    assert!(text.starts_with("DIR/set.jsonl:2: not a JSON object: "), "{text}");
}

#[test]
fn an_empty_data_set_is_an_error() {
    for content in ["", "\n \n"] {
        assert_eq!(
            read(content).unwrap_err(),
            "DIR/set.jsonl: no questions, expected at least one row"
        );
    }
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = folder(&[("set.tsv", "a,b"), ("set.jsonl.zst", "this is no zstd")]);
    let read = |name: &str| {
        message(read_questions(&QuestionFile::new(folder.path().join(name))), folder.path())
    };
    assert_eq!(
        read("set.tsv"),
        "DIR/set.tsv: unknown kind of file, expected a name ending in .jsonl, .jsonl.zst, .json, .csv or .parquet"
    );
    assert!(read("set.jsonl.zst").starts_with("DIR/set.jsonl.zst: cannot read: not zstd"));
    assert!(read("none.jsonl").starts_with("DIR/none.jsonl: cannot read: "));
    let cut = data("three.jsonl.zst");
    let bytes = std::fs::read(cut).unwrap();
    std::fs::write(folder.path().join("cut.jsonl.zst"), &bytes[..bytes.len() - 9]).unwrap();
    assert!(read("cut.jsonl.zst").starts_with("DIR/cut.jsonl.zst: cannot read: "));
}

/// Two questions give equal results as JSON lines, as a JSON list and as CSV.
#[test]
fn a_json_list_and_csv_are_read_as_lines_are() {
    let lines = "{\"id\": \"a\", \"problem\": \"2, or\\n\\\"two\\\"?\", \"answer\": \"1,072\"}\n\
                 {\"id\": \"b\", \"problem\": \"3+3?\", \"answer\": \"6\"}\n";
    let list = format!("\u{feff} [{}]", lines.trim_end().replace("}\n", "},\n"));
    let csv =
        "\u{feff}id, problem ,answer\r\na,\"2, or\n\"\"two\"\"?\",\"1,072\"\r\n\r\nb,3+3?,6\r\n";
    let folder = folder(&[("set.jsonl", lines), ("set.json", &list), ("set.csv", csv)]);
    // Some sets have lines in a file that is named .json.
    std::fs::write(folder.path().join("set.lines.json"), lines).unwrap();
    let read = |name: &str| {
        read_questions(&QuestionFile::new(folder.path().join(name))).unwrap().questions
    };
    let expected = read("set.jsonl");
    assert_eq!(expected[0].problem, "2, or\n\"two\"?");
    for name in ["set.json", "set.csv", "set.lines.json"] {
        assert_eq!(read(name), expected, "{name}");
    }
}

#[test]
fn bad_rows_of_a_list_and_of_csv_are_named() {
    let list = r#"[{"problem": "p", "answer": "4"}, [1], {"problem": "p"}]"#;
    let csv = "problem,answer\r\n\"two\nlines\",4\r\n\r\np\r\np,4,5\r\n\r\n\r\np,\r\n";
    let broken = "[{\"problem\": \"p\", \"answer\": \"4\"},\n{\"problem\"]\n";
    // Columns without a name may be several.
    let twice = ",,problem,answer, problem\n1,1,p,4,q\n";
    let files =
        [("set.json", list), ("set.csv", csv), ("broken.json", broken), ("twice.csv", twice)];
    let folder = folder(&files);
    let read = |name: &str| {
        message(read_questions(&QuestionFile::new(folder.path().join(name))), folder.path())
    };
    let text = read("set.json");
    assert!(text.contains("DIR/set.json: row 2: not a JSON object: a list"), "{text}");
    assert!(text.contains("DIR/set.json: row 3: field `answer` is missing"), "{text}");
    assert_eq!(
        read("twice.csv"),
        "DIR/twice.csv:1: field `problem` stands more than once in the header, expected once"
    );
    let text = read("set.csv");
    assert!(text.starts_with("DIR/set.csv: 3 of 4 rows are invalid"), "{text}");
    let cells = "the number of cells is 1, expected 2 as in the header";
    assert!(text.contains(&format!("DIR/set.csv:5: {cells}")), "{text}");
    assert!(text.contains("DIR/set.csv:6: the number of cells is 3"), "{text}");
    assert!(text.contains("DIR/set.csv:9: field `answer` is empty"), "{text}");
    let text = read("broken.json");
    assert!(text.starts_with("DIR/broken.json:2: not a JSON object: expected"), "{text}");
    assert!(text.ends_with(" at column 11"), "{text}");
    // Ten million numbers took gigabytes, and a message each.
    let numbers = format!("[{}1]", "1,".repeat(10_000_000));
    std::fs::write(folder.path().join("numbers.json"), numbers).unwrap();
    let text = read("numbers.json");
    assert!(text.contains("a list of which over 1000 elements are no objects"), "{text}");
}

#[test]
fn a_list_in_a_file_of_lines_is_answered_with_the_name_it_should_have() {
    for content in ["[{\"problem\": \"p\", \"answer\": \"4\"}]", "[\n  1\n]"] {
        let text = read(content).unwrap_err();
        let expected = "set.jsonl:1: not a JSON object: a list; a file that is one list of objects is named .json";
        assert!(text.contains(expected), "{text}");
    }
}

#[test]
fn text_that_is_not_utf8_is_named_by_row_and_byte() {
    let good = "{\"problem\": \"p\", \"answer\": \"4\"}";
    let latin1 =
        |before: &str, after: &str| [before.as_bytes(), &[0xE9], after.as_bytes()].concat();
    let cases = [
        (
            "set.jsonl",
            latin1(&format!("{good}\n{{\"problem\": \"caf"), "\"}\n"),
            ":2: byte 17 is 0xE9",
        ),
        (
            "set.json",
            latin1(&format!("[{good},\n{{\"problem\": \"caf"), "\"}]\n"),
            ":2: byte 17 is 0xE9",
        ),
        ("set.csv", latin1("problem,answer\np,4\ncaf", ",5\n"), ":3: byte 4 is 0xE9"),
        ("head.csv", latin1("probl", "me,answer\np,4\n"), ":1: byte 6 is 0xE9"),
    ];
    let utf16 = "{\"problem\": \"p\"}".encode_utf16().flat_map(u16::to_le_bytes);
    let windows = folder(&[]);
    let path = windows.path().join("set.jsonl");
    std::fs::write(&path, [vec![0xFF, 0xFE], utf16.collect()].concat()).unwrap();
    let text = message(read_questions(&QuestionFile::new(path)), windows.path());
    assert!(text.contains("(`iconv -f utf-16 -t utf-8` converts UTF-16)"), "{text}");
    for (name, content, expected) in cases {
        let folder = folder(&[]);
        std::fs::write(folder.path().join(name), content).unwrap();
        let file = QuestionFile::new(folder.path().join(name));
        let text = message(read_questions(&file), folder.path());
        assert!(
            text.starts_with(&format!("DIR/{name}{expected}, expected text in UTF-8")),
            "{text}"
        );
    }
}

/// All shared data sets that are present can be read.
#[test]
fn whole_data_sets_are_read_where_they_are_at_hand() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data");
    for (name, rows) in [("gsm8k_train", 7473), ("math500", 500), ("dapo_math_17k", 17_917)] {
        let path = folder.join(format!("{name}.jsonl.zst"));
        if path.exists() {
            assert_eq!(
                read_questions(&QuestionFile::new(path)).unwrap().questions.len(),
                rows,
                "{name}"
            );
        } else {
            eprintln!("absent, not read: {}", path.display());
        }
    }
}

/// The expected answer comes from another route: numbers and operation are parsed from the text.
#[test]
fn answers_of_plain_sums_are_exact() {
    let task = ArithmeticTask {
        operations: vec![Operation::Add, Operation::Subtract, Operation::Multiply],
        digits: (1, 9),
        count: 500,
        ..ArithmeticTask::default()
    };
    let mut symbols = HashSet::new();
    for question in task.questions(Split::Train).unwrap() {
        let sum = question.problem.strip_suffix('=').unwrap();
        let symbol = sum.find(['+', '-', '*']).unwrap();
        let left: i128 = sum[..symbol].parse().unwrap();
        let right: i128 = sum[symbol + 1..].parse().unwrap();
        let expected = match &sum[symbol..=symbol] {
            "+" => left + right,
            "-" => left - right,
            _ => left * right,
        };
        assert_eq!(question.answer, expected.to_string(), "{sum}");
        assert!(expected >= 0, "{sum}");
        symbols.insert(sum[symbol..=symbol].to_owned());
    }
    assert_eq!(symbols.len(), 3);
}

#[test]
fn word_problems_hold_both_numbers_and_end_in_a_question() {
    let task = ArithmeticTask { word_problems: true, count: 200, ..ArithmeticTask::default() };
    for question in task.questions(Split::Train).unwrap() {
        let numbers: Vec<u64> = question
            .problem
            .split(|c: char| !c.is_ascii_digit())
            .filter_map(|word| word.parse().ok())
            .collect();
        let [left, right] = numbers[..] else { panic!("{}", question.problem) };
        let answer: u64 = question.answer.parse().unwrap();
        assert!(answer == left + right || left.checked_sub(right) == Some(answer));
        assert!(question.problem.ends_with('?'));
    }
}

#[test]
fn questions_are_the_same_for_the_same_task_and_never_in_both_splits() {
    let task = ArithmeticTask { count: 300, ..ArithmeticTask::default() };
    let other = ArithmeticTask { seed: 1, ..task.clone() };
    let texts = |task: &ArithmeticTask, split| -> HashSet<String> {
        task.questions(split).unwrap().into_iter().map(|question| question.problem).collect()
    };
    assert_eq!(task.questions(Split::Train).unwrap(), task.questions(Split::Train).unwrap());
    let train = texts(&task, Split::Train);
    assert_eq!(train.len(), 300, "all different");
    assert_ne!(train, texts(&other, Split::Train));
    for task in [&task, &other] {
        assert!(train.is_disjoint(&texts(task, Split::HeldOut)));
    }
}

/// A snapshot for the seed: another build must ask the same questions.
#[test]
fn first_questions_of_a_seed_stay() {
    let plain = ArithmeticTask { count: 3, ..ArithmeticTask::default() };
    let words = ArithmeticTask { count: 2, word_problems: true, ..ArithmeticTask::default() };
    let mut all = plain.questions(Split::Train).unwrap();
    all.extend(words.questions(Split::HeldOut).unwrap());
    insta::assert_yaml_snapshot!(all);
}

#[test]
fn a_family_that_is_too_small_gives_what_there_is() {
    let task = ArithmeticTask {
        operations: vec![Operation::Add],
        digits: (1, 1),
        count: 1000,
        ..ArithmeticTask::default()
    };
    let train = task.questions(Split::Train).unwrap().len();
    let held_out = task.questions(Split::HeldOut).unwrap().len();
    assert_eq!(train + held_out, 100, "0+0 to 9+9");
}

#[test]
fn impossible_tasks_name_the_field() {
    let task = ArithmeticTask { digits: (3, 2), ..ArithmeticTask::default() };
    assert_eq!(
        task.questions(Split::Train).unwrap_err().to_string(),
        "arithmetic: `data.arithmetic.digits` is [3, 2], expected [fewest, most] with 1 ≤ fewest ≤ most ≤ 9"
    );
    let task = ArithmeticTask { operations: vec![], ..ArithmeticTask::default() };
    let error = task.questions(Split::Train).unwrap_err().to_string();
    assert!(error.starts_with("arithmetic: "), "{error}");
}

fn operations_asked() -> ArithmeticTask {
    use Operation::{Add, Multiply, Subtract};
    let operations = vec![Add, Add, Add, Subtract, Multiply];
    ArithmeticTask {
        operations,
        largest: 20,
        ask_operation: true,
        count: 400,
        ..ArithmeticTask::default()
    }
}

#[test]
fn an_operation_that_is_asked_for_is_the_only_one_with_this_value() {
    let mut counts = [0_usize; 3];
    for question in operations_asked().questions(Split::Train).unwrap() {
        let numbers = question.problem.strip_suffix(": ").expect("an equation with a gap");
        let (left, rest) = numbers.split_once('?').unwrap();
        let (right, value) = rest.split_once('=').unwrap();
        let [left, right, value]: [u64; 3] = [left, right, value].map(|text| text.parse().unwrap());
        assert!(left <= 20 && right <= 20, "{}", question.problem);
        let values = [left + right, left.abs_diff(right), left * right];
        let places: Vec<usize> = (0..3).filter(|&place| values[place] == value).collect();
        let place: usize = question.answer.parse().unwrap();
        assert_eq!(places, [place - 1], "{}", question.problem);
        counts[place - 1] += 1;
    }
    // Of 400, sums are drawn in three of five; those drawn twice are left out.
    assert!(counts[0] > 200 && counts.iter().all(|&count| count > 60), "{counts:?}");
}

/// `2^62` questions once ended in a panic, `2^31` took all memory.
#[test]
fn the_number_of_made_up_questions_is_bounded() {
    for count in [0, 1_000_001, usize::MAX >> 2] {
        assert_eq!(
            ArithmeticTask { count, ..ArithmeticTask::default() }
                .questions(Split::Train)
                .unwrap_err()
                .to_string(),
            format!("arithmetic: `data.arithmetic.count` is {count}, expected 1 to 1,000,000")
        );
    }
}

#[test]
fn an_operation_cannot_be_asked_for_in_a_story_or_beyond_the_largest_operand() {
    let message = |task: ArithmeticTask| task.questions(Split::Train).unwrap_err().to_string();
    assert_eq!(
        message(ArithmeticTask { word_problems: true, ..operations_asked() }),
        "arithmetic: `data.arithmetic.ask_operation` is true, expected false where word_problems is true"
    );
    // Of 0 and 0 alone no operation could be told: the task would be looked for without end.
    assert_eq!(
        message(ArithmeticTask { digits: (1, 1), largest: 0, ..operations_asked() }),
        "arithmetic: `data.arithmetic.largest` is 0, expected at least 1 where ask_operation is true"
    );
    let smallest = ArithmeticTask { digits: (1, 1), largest: 1, ..operations_asked() };
    assert!(!smallest.questions(Split::Train).unwrap().is_empty());
    assert_eq!(
        message(ArithmeticTask { digits: (2, 2), largest: 9, ..operations_asked() }),
        "arithmetic: `data.arithmetic.largest` is 9, expected no less than the smallest number of the most digits"
    );
}
