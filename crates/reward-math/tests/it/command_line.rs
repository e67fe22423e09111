//! Tests of the binary: rows in, rows out, one clear error for a bad line.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_reward-math"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(input.as_bytes()).expect("the binary reads its input");
    drop(stdin);
    child.wait_with_output().expect("the binary ends")
}

fn rows(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("a row is JSON")).collect()
}

#[test]
fn grade_keeps_fields_and_adds_the_verdict() {
    let input = concat!(
        r#"{"id": 7, "response": "so \\boxed{1/2}", "ground_truth": "0.5"}"#,
        "\n\n",
        r#"{"response": "The answer is 3.", "answer": 4}"#,
        "\n",
        r#"{"response": "no idea", "answer": "4"}"#,
        "\n",
    );
    let output = run(&["grade", "--mode", "marked"], input);
    assert!(output.status.success());
    let rows = rows(&output);
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["id"], 7);
    assert_eq!(rows[0]["verdict"], "right");
    let how = serde_json::json!({"rung": "number", "response": "1/2", "ground_truth": "1/2"});
    assert_eq!(rows[0]["how"], how);
    assert_eq!((&rows[0]["reward"], &rows[0]["extracted"]), (&1.0.into(), &"1/2".into()));
    assert_eq!((&rows[1]["verdict"], &rows[1]["reward"]), (&"wrong".into(), &0.0.into()));
    assert_eq!((&rows[2]["verdict"], &rows[2]["which"]), (&"unparsed".into(), &"response".into()));
}

#[test]
fn one_of_several_ground_truths_is_enough() {
    let input = concat!(
        r#"{"response": "\\boxed{3}", "answer": ["2", 3]}"#,
        "\n",
        r#"{"response": "\\boxed{4}", "answer": ["2", "3"]}"#,
        "\n",
    );
    let output = run(&["grade"], input);
    let verdicts: Vec<_> = rows(&output).iter().map(|row| row["verdict"].clone()).collect();
    assert_eq!(verdicts, ["right", "wrong"]);
    for empty in
        [r#"{"response": "\\boxed{3}", "answer": []}"#, r#"{"response": "3", "answer": [[]]}"#]
    {
        assert_eq!(run(&["grade"], empty).status.code(), Some(2), "{empty}");
    }
}

#[test]
fn a_bad_line_is_one_error_with_its_number_and_exit_code_two() {
    let good = r#"{"response": "\\boxed{1}", "answer": "1"}"#;
    for (bad, expected) in [
        ("not json", "error: line 2: expected a JSON object"),
        (
            r#"{"response": "x"}"#,
            "error: line 2: field `answer` is absent, expected a string or a number",
        ),
        (r#"{"response": null, "answer": "1"}"#, "error: line 2: field `response` is null"),
    ] {
        let output = run(&["grade"], &format!("{good}\n{bad}\n{good}\n"));
        assert_eq!(output.status.code(), Some(2), "{bad}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(rows(&output).len(), 1, "the row before the bad one is written");
    }
}

#[test]
fn a_missing_file_is_named() {
    let output = run(&["grade", "no-such-file.jsonl"], "");
    assert_eq!(output.status.code(), Some(2));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(message.starts_with("error: no-such-file.jsonl: cannot read: "), "{message}");
}

#[test]
fn thread_counts_and_rewards_that_no_row_can_have_are_refused() {
    for (option, value) in [("--jobs", "99999999999"), ("--right", "nan"), ("--wrong", "inf")] {
        let output = run(&["grade", option, value], "");
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(message.contains(&format!("invalid value '{value}' for '{option}")), "{message}");
    }
}

#[test]
fn an_answer_may_stand_anywhere_in_lenient_mode_alone() {
    let row = "{\"response\": \"Janet makes $18 a day.\", \"answer\": \"18\"}\n";
    assert_eq!(rows(&run(&["grade", "--mode", "lenient"], row))[0]["verdict"], "right");
    assert_eq!(rows(&run(&["grade"], row))[0]["verdict"], "unparsed");
}

#[test]
fn strict_mode_takes_boxes_alone() {
    let row = "{\"response\": \"The answer is 4.\", \"answer\": \"4\"}\n";
    assert_eq!(rows(&run(&["grade"], row))[0]["verdict"], "right");
    assert_eq!(rows(&run(&["grade", "--mode", "strict"], row))[0]["verdict"], "unparsed");
}

#[test]
fn the_recipes_grader_takes_letters_for_units_and_wants_a_brace() {
    let input = concat!(
        r#"{"response": "\\boxed{m + 1}", "answer": "t + 1"}"#,
        "\n",
        r#"{"response": "\\boxed 7", "answer": "7"}"#,
        "\n",
    );
    let verdicts = |arguments: &[&str]| {
        let graded = rows(&run(arguments, input));
        graded.iter().map(|row| row["verdict"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(verdicts(&["grade", "--compat"]), ["right", "unparsed"]);
    assert_eq!(verdicts(&["grade", "--mode", "strict"]), ["wrong", "right"]);
}

#[test]
fn explain_names_the_deciding_rung() {
    let output = run(&["explain", r"\boxed{\sqrt{12}}", r"2\sqrt{3}"], "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success());
    assert!(text.contains("right, decided by normal-form"), "{text}");
    let output = run(&["explain", "\\boxed{\u{1b}[2J x}", "\u{9b}2J x"], "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!text.contains(['\u{1b}', '\u{9b}']), "{text:?}");
}

#[test]
fn a_row_keeps_the_order_of_its_fields() {
    let output =
        run(&["grade"], "{\"response\": \"\\\\boxed{1}\", \"b\": 1, \"answer\": 1, \"a\": 2}\n");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let place = |field: &str| text.find(&format!("\"{field}\"")).expect("the field is there");
    assert!(place("response") < place("b") && place("b") < place("answer"), "{text}");
    assert!(place("answer") < place("a") && place("a") < place("verdict"), "{text}");
}

#[test]
fn marks_of_other_systems_do_no_harm_and_an_empty_file_is_empty() {
    let row = "{\"response\": \"\\\\boxed{1}\", \"answer\": 1}";
    for input in [format!("\u{feff}{row}\n"), format!("{row}\r\n"), row.to_owned()] {
        let output = run(&["grade"], &input);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_eq!(rows(&output)[0]["verdict"], "right");
    }
    let output = run(&["grade"], "");
    assert!(output.status.success() && output.stdout.is_empty());
}

#[test]
fn a_complaint_is_made_once() {
    let output = run(&["grade"], "junk\n");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(message.matches("expected value").count(), 1, "{message}");
}

#[test]
fn bench_reads_the_rows_that_grade_reads() {
    let output = run(&["bench"], "{\"response\": \"\\\\boxed{1}\", \"answer\": 1}\n");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs the comparison with these modules in place of those of the graders.
fn bench_with(modules: &[(&str, &str)], input: &str) -> (Option<i32>, String, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (name, code) in modules {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("writable");
        std::fs::write(path, code).expect("writable");
    }
    let mut child = Command::new(env!("CARGO_BIN_EXE_reward-math"))
        .args(["bench", "--peers"])
        .env("PYTHONPATH", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("stdin is piped");
    stdin.write_all(input.as_bytes()).expect("the binary reads its input");
    drop(stdin);
    let output = child.wait_with_output().expect("the binary ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

const TWO_ROWS: &str = concat!(
    r#"{"response": "\\boxed{2/4}", "answer": "0.5", "label": true}"#,
    "\n",
    r#"{"response": "\\boxed{3}", "answer": "4", "correct": false}"#,
    "\n",
);

/// Calls nothing right, and dies on a ground truth of 4.
const DYING: &str = "import os
def parse(text): return text
def verify(gold, answer): return os._exit(1) if gold == '$4$' else False
";

#[test]
fn other_graders_stand_beside_this_one_and_rows_that_differ_are_listed() {
    let all_right = "def boxed_reward_fn(response, truth): return {}, 1.0";
    let modules = [("math_verify.py", DYING), ("oat/utils/math_grader.py", all_right)];
    let (code, out, errors) = bench_with(&modules, TWO_ROWS);
    assert_eq!((code, errors.as_str()), (Some(0), ""), "{out}");
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = out.lines().map(words).collect();
    assert_eq!(lines[0].join(" "), "2 rows, 2 of them labelled");
    // Right, agreeing with the label, false positives, misses, rows without an answer.
    assert_eq!(lines[2][..6], ["reward-math", "1", "2", "0", "0", "0"]);
    assert_eq!(lines[3][..6], ["Math-Verify", "0", "1", "0", "1", "1"]);
    assert_eq!(lines[4][..6], ["oat", "2", "1", "1", "0", "0"]);
    assert_eq!(lines[7][..5], ["1", "right", "right", "wrong", "right"]);
    assert_eq!(lines[8][..5], ["2", "wrong", "wrong", "-", "right"]);
    assert_eq!(lines.len(), 9, "{out}");
}

#[test]
fn a_python_without_graders_is_one_error_with_the_way_to_install_them() {
    let absent = "raise ImportError";
    let none = [("math_verify.py", absent), ("oat/utils/math_grader.py", absent)];
    let (code, _, errors) = bench_with(&none, TWO_ROWS);
    assert_eq!(code, Some(2), "{errors}");
    assert!(errors.contains("oat is not installed") && errors.contains("pip install math-verify"));
    let one = [("math_verify.py", DYING), ("oat/utils/math_grader.py", absent)];
    let (code, out, errors) = bench_with(&one, TWO_ROWS);
    assert_eq!((code, errors.lines().count()), (Some(0), 1), "{errors}");
    assert!(out.contains("Math-Verify") && !out.contains("oat"), "{out}");
    let absent = run(&["bench", "--peers", "--python", "/no/python"], TWO_ROWS);
    assert_eq!(absent.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&absent.stderr).contains("--python names another"));
}

#[test]
fn explain_takes_a_bare_answer() {
    let output = run(&["explain", "--mode", "marked", "0.5", r"\frac12"], "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("nothing") && text.contains("right, decided by number"), "{text}");
    let output = run(&["explain", "0.5", r"\frac12"], "");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("right, decided by number"), "{text}");
}

#[test]
fn answers_that_begin_with_a_sign_are_answers_and_options_stay_options() {
    for arguments in [
        &["explain", "\\boxed{-1}", "-1"][..],
        &["explain", "-\\frac12", "-0.5", "--bare"],
        &["explain", "--bare", "-x", "-x"],
    ] {
        let output = run(arguments, "");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("right"), "{arguments:?}: {text}");
    }
    let help = run(&["explain", "-1", "--help"], "");
    assert!(String::from_utf8_lossy(&help.stdout).contains("Usage: reward-math explain"));
}

/// Output closed at once, like that of `… | head -0`.
#[test]
fn a_command_that_nobody_reads_ends_quietly() {
    for arguments in [&["grade", "--jobs", "1"][..], &["explain", "1", "1"]] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut child = Command::new(env!("CARGO_BIN_EXE_reward-math"))
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        let row = b"{\"response\": \"\\\\boxed{1}\", \"answer\": \"1\"}\n";
        // A command without a reader may not read its input.
        let _ = child.stdin.take().expect("stdin is piped").write_all(row);
        let output = child.wait_with_output().expect("the binary ends");
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!((output.status.code(), &*text), (Some(141), ""), "{arguments:?}");
    }
}
