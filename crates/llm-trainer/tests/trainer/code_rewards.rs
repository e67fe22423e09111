//! Runs whose responses are programs.

use std::path::Path;
use std::process::Output;

use code_sandbox::{CodeSection, Helper, Sandbox, SandboxError, UnitTests};
use serde_json::Value;

use crate::training_run::{assert_success, train_process};

/// A run over programming tasks; the fixture writes no program, so that all is unparsed.
fn train_on_code(root: &Path, more: &[&str]) -> Output {
    let rows = root.join("tasks.jsonl");
    let row = |number: u32| {
        serde_json::json!({"problem": format!("{number}+1"), "test_list": [format!("assert f() == {number}")]}).to_string()
    };
    std::fs::write(&rows, (0..8).map(|number| row(number) + "\n").collect::<String>())
        .expect("a temporary folder is writable");
    let data = format!("data.train={}", rows.display());
    let all = [
        &[
            "reward.kind_by_source={ tasks = \"code\" }",
            "training.steps=1",
            "evaluation.every=0",
            &data,
        ],
        more,
    ];
    train_process(root, &all.concat())
}

#[test]
fn programs_are_run_only_where_an_interpreter_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let output = train_on_code(folder.path(), &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    assert!(
        text.contains("`reward.code.interpreter` is \"\", expected the path of a Python 3"),
        "{text}"
    );
    let output = train_on_code(folder.path(), &["reward.code.interpreter=/no/such/python"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("reward.code.interpreter is \"/no/such/python\""), "{text}");
}

#[test]
fn a_run_judges_programs_and_says_so_in_its_samples() {
    let folder = tempfile::tempdir().unwrap();
    let output = train_on_code(folder.path(), &["reward.code.interpreter=python3"]);
    let text = String::from_utf8_lossy(&output.stderr);
    if text.contains("programs cannot be run safely here") || text.contains("expected a Python") {
        eprintln!("NOT TESTED: {text}");
        return;
    }
    assert_success(&output);
    let samples = std::fs::read_to_string(folder.path().join("run/samples/step-1.jsonl")).unwrap();
    assert_eq!(samples.lines().count(), 12);
    for line in samples.lines() {
        let sample: Value = serde_json::from_str(line).unwrap();
        assert_eq!(sample["verdict"], "unparsed", "{line}");
        assert_eq!(sample["why"], "no-answer", "{line}");
        assert!(sample["answer"].as_str().unwrap().starts_with("[\"assert f() == "), "{line}");
    }
}

/// The trainer's own program serves as the helper where the smaller one is not installed.
#[test]
fn the_trainer_itself_can_be_the_helper() {
    let settings = CodeSection { interpreter: "python3".to_owned(), ..CodeSection::default() };
    let program = env!("CARGO_BIN_EXE_llm-trainer").into();
    let helper = Helper { program, arguments: vec!["confined".to_owned()] };
    let sandbox = match Sandbox::start(&settings, helper) {
        // The host's fault, not the helper's.
        Err(SandboxError::Interpreter { why, .. } | SandboxError::Unprotected { why }) => {
            return eprintln!("NOT TESTED: {why}");
        }
        started => started.unwrap(),
    };
    let tests = UnitTests::read("assert f(2) == 4").unwrap();
    for (program, right) in [("def f(x): return x * x", true), ("def f(x): return 3 * x", false)] {
        let verdict = sandbox.judge(&tests, &format!("```python\n{program}\n```")).unwrap();
        assert_eq!(verdict.is_right(), right, "{verdict:?}");
    }
}
