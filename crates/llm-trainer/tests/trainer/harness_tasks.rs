//! `eval lm-eval` and `eval lighteval` with a stand-in of both, which asks as they do.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, test_kill_process};
use serde_json::Value;
use workspace_tests::processes::wait_until;

use crate::fixture::{copy_to, said_beside_the_device};
use crate::interruption::signal;

const TEMPLATE: &str =
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:";

struct Evaluation {
    folder: tempfile::TempDir,
}

impl Evaluation {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let model = folder.path().join("tiny model");
        copy_to("tiny_qwen2_tied", &model);
        std::fs::write(model.join("chat_template.jinja"), TEMPLATE).expect("it is writable");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `eval lm-eval`, with the stand-in in its `PATH`.
    fn command(&self, more: &[&str]) -> Command {
        self.command_of("lm-eval", more)
    }

    fn command_of(&self, harness: &str, more: &[&str]) -> Command {
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trainer/harness_tasks");
        let paths = std::env::var_os("PATH").unwrap_or_default();
        let paths = std::iter::once(programs).chain(std::env::split_paths(&paths));
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
        command
            .args(["eval", harness])
            .arg(self.path("tiny model"))
            .args(["--tasks", "gsm8k,drop", "--device", "cpu", "--threads", "1", "--output"])
            .arg(self.path("out"))
            .args(more)
            .env("OMP_NUM_THREADS", "1")
            .env("PATH", std::env::join_paths(paths).expect("names without a colon"))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self, more: &[&str]) -> Output {
        self.command(more).output().expect("the binary of this crate runs")
    }

    /// The stand-in's file of results.
    fn results(&self) -> Value {
        let text = std::fs::read_to_string(self.path("out/results.json"));
        serde_json::from_str(&text.expect("a file of results")).expect("JSON")
    }

    /// The greedy answer of `generate` to the stand-in's question.
    fn answer(&self, more: &[&str]) -> Value {
        let output = Command::new(env!("CARGO_BIN_EXE_llm-trainer"))
            .args(["generate", "--device", "cpu", "--threads", "1", "--temperature", "0"])
            .args(["--prompt", "What is 2", "--max-new-tokens", "8", "--model"])
            .arg(self.path("tiny model"))
            .args(more)
            .env("OMP_NUM_THREADS", "1")
            .output()
            .expect("the binary of this crate runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let line: Value = serde_json::from_str(&text).unwrap_or_else(|_| panic!("{output:?}"));
        line["text"].clone()
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn tasks_are_asked_of_the_model_by_completions() {
    let evaluation = Evaluation::new();
    let output = evaluation.run(&["--rows", "3", "--context", "96", "--", "--limit", "7"]);
    assert!(output.status.success(), "{output:?}");
    let end = format!(
        "|gsm8k,drop|\n\nIn {}: the results of lm-eval\n",
        evaluation.path("out").display()
    );
    assert_eq!(text(&output.stdout), end);
    let results = evaluation.results();
    assert_eq!(results["arguments"]["limit"], "7");
    assert_eq!(results["arguments"]["model"], "local-completions");
    assert_eq!(results["model"]["num_concurrent"], "3");
    assert_eq!(results["model"]["max_length"], "96");
    assert_eq!(results["text"], evaluation.answer(&[]));
}

#[test]
fn tasks_are_asked_by_the_chat_template() {
    let evaluation = Evaluation::new();
    let output = evaluation.run(&["--chat"]);
    assert!(output.status.success(), "{output:?}");
    let results = evaluation.results();
    assert_eq!(results["arguments"]["model"], "local-chat-completions");
    assert_eq!(results["text"], evaluation.answer(&["--chat"]));
    assert_ne!(results["text"], evaluation.answer(&[]));
}

/// lighteval keeps answers by the model's name, also those of former weights.
#[test]
fn lighteval_asks_by_the_chat_template_and_knows_weights_apart() {
    let evaluation = Evaluation::new();
    let mut names = Vec::new();
    for weights in ["tiny_qwen2_tied", "tiny_qwen3"] {
        copy_to(weights, &evaluation.path("tiny model"));
        let more = ["--", "--max-samples", "7"];
        let output = evaluation.command_of("lighteval", &more).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let results = evaluation.results();
        assert_eq!(results["arguments"]["max_samples"], "7");
        assert_eq!(results["arguments"]["tasks"], "gsm8k,drop");
        assert_eq!(results["text"], evaluation.answer(&["--chat"]));
        let name = results["model"]["model_name"].as_str().expect("a name").to_owned();
        assert!(name.starts_with("openai/tiny-model-"), "{name}");
        names.push(name);
    }
    assert_ne!(names[0], names[1]);
}

#[test]
fn a_failure_of_the_program_is_named_and_keeps_its_exit_code() {
    let evaluation = Evaluation::new();
    let output = evaluation.command(&[]).env("FAILS", "1").output().unwrap();
    assert_eq!(output.status.code(), Some(3));
    let errors = said_beside_the_device(&output.stderr);
    assert_eq!(errors, "lm-eval says why\nerror: lm-eval ended with exit code 3\n");
}

#[test]
fn a_missing_program_is_named_with_its_package() {
    let evaluation = Evaluation::new();
    let output = evaluation.command(&[]).env("PATH", evaluation.path("nowhere")).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(
        text(&output.stderr),
        "error: lm-eval: not in PATH, expected that of `pip install \"lm-eval[api]\"`\n"
    );
}

#[test]
fn a_signal_ends_the_program_too() {
    let evaluation = Evaluation::new();
    let file = evaluation.path("process");
    let child = evaluation.command(&[]).env("HANGS", &file).spawn().unwrap();
    let process = || std::fs::read_to_string(&file).ok()?.parse().ok().and_then(Pid::from_raw);
    wait_until("the program has started", || process().is_some());
    signal(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(143), "{output:?}");
    let process = process().expect("it has started");
    assert!(test_kill_process(process).is_err(), "{process:?} still runs");
}
