//! `metrics.sink`: a program that is fed the metrics of a run, which never waits for it.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::training_run::{assert_success, comparable_metrics, train, train_command, weights};

fn sink(script: &str, seconds: f64) -> String {
    format!(
        "metrics.sink={{ command = [\"sh\", \"-c\", '''{script}'''], wait_seconds = {seconds:?} }}"
    )
}

fn metrics(root: &Path) -> String {
    fs::read_to_string(root.join("run/metrics.jsonl")).expect("a run leaves metrics")
}

#[test]
fn the_program_reads_every_line_of_the_metrics_also_of_a_resumed_run() {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy");
    let setting = sink(&format!("cat > {}", copy.display()), 60.0);
    assert_success(&train(folder.path(), &[&setting]));
    let check = || {
        let text = fs::read_to_string(&copy).unwrap();
        let (header, rows) = text.split_once('\n').unwrap();
        assert_eq!(rows, metrics(folder.path()));
        serde_json::from_str::<Value>(header).unwrap()
    };
    let header = check();
    assert_eq!(header["run"], "tiny");
    assert_eq!(header["directory"], folder.path().join("run").display().to_string());
    assert_eq!(header["config"]["rollout"]["group_size"], 3);
    let mut again = train_command(folder.path(), &[&setting]);
    again.arg("--resume").arg(folder.path().join("run/checkpoints/step-2"));
    assert_success(&again.output().unwrap());
    check();
}

#[test]
fn a_program_that_ends_or_never_reads_changes_nothing_but_a_warning() {
    let plain = tempfile::tempdir().unwrap();
    assert_success(&train(plain.path(), &[]));
    for (script, expected) in [
        ("exit 3", "metrics.sink.command ended with exit status: 3 after "),
        ("sleep 1000", "rows, or not ended within 0.5 s"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = train_command(folder.path(), &[&sink(script, 0.5)]).output().unwrap();
        assert_success(&output);
        let text = [output.stdout, output.stderr].concat();
        let text = String::from_utf8_lossy(&text);
        assert_eq!(text.matches("metrics.sink").count(), 1, "{script}: {text}");
        assert!(text.contains(expected), "{script}: {text}");
        assert_eq!(comparable_metrics(folder.path()), comparable_metrics(plain.path()));
        assert!(weights(folder.path()) == weights(plain.path()), "{script}: the weights differ");
    }
}

#[test]
fn a_program_that_cannot_be_started_ends_the_run_before_its_first_step() {
    let folder = tempfile::tempdir().unwrap();
    let output = train(folder.path(), &["metrics.sink={ command = [\"/nowhere/program\"] }"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("metrics.sink.command: cannot start /nowhere/program"), "{text}");
    let output = train(folder.path(), &["metrics.sink={ command = [] }"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("`metrics.sink.command` is [], expected a program and its arguments"),
        "{text}"
    );
}
