//! Records of a run: event files, tokens, and the law of its evaluations.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use run_report::tensorboard::{EventContent, ValueKind, event_files, read_events};
use training_run::metrics::read_metrics;
use training_run::token_record::TokenRecord;

use crate::in_process;
use crate::training_run::{assert_success, train, train_by, train_process};

/// Values of each step in the event files under `folder`, by name.
fn events(folder: &Path) -> Vec<(i64, BTreeMap<String, f32>)> {
    let files = event_files(folder).expect("a folder of events");
    let events = files.iter().flat_map(|path| {
        let (events, is_whole) = read_events(path).expect("readable files");
        assert!(is_whole, "whole files");
        events
    });
    let summary = |event: run_report::tensorboard::Event| {
        let Some(EventContent::Summary(summary)) = event.content else { return None };
        let scalar = |value: run_report::tensorboard::Value| match value.kind {
            Some(ValueKind::SimpleValue(number)) => Some((value.tag, number)),
            _ => None,
        };
        Some((event.step, summary.value.into_iter().filter_map(scalar).collect()))
    };
    events.filter_map(summary).collect()
}

fn tokens(root: &Path, step: u64) -> Vec<TokenRecord> {
    let path = root.join(format!("run/samples/step-{step}.tokens.jsonl"));
    let text = std::fs::read_to_string(path).expect("recorded by default");
    text.lines().map(|line| serde_json::from_str(line).expect("a record a line")).collect()
}

#[test]
fn tensorboard_has_every_metric_of_every_step_once_though_the_run_was_resumed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    assert_success(&train(root, &[]));
    let checkpoints = root.join("run/checkpoints");
    std::fs::remove_dir_all(checkpoints.join("step-4")).unwrap();
    std::fs::write(checkpoints.join("latest"), "step-2\n").unwrap();
    let resumed = train_process(root, &[]);
    assert_success(&resumed);
    let expected: Vec<(i64, BTreeMap<String, f32>)> = read_metrics(&root.join("run/metrics.jsonl"))
        .unwrap()
        .iter()
        .map(|step| {
            #[expect(clippy::cast_possible_truncation, reason = "the precision of the format")]
            let values = step.iter().map(|(name, value)| (name.to_owned(), value as f32));
            (i64::try_from(step.step()).unwrap(), values.collect())
        })
        .collect();
    assert_eq!(expected.iter().map(|step| step.0).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(events(&root.join("run/events")), expected);

    // Exported, it is the same again; and the table holds the same numbers.
    let mut export = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    export.arg("export").arg(root.join("run")).args(["--csv", "-", "--tensorboard"]);
    let exported = in_process::run(export.arg(root.join("exported")));
    assert_success(&exported);
    assert_eq!(events(&root.join("exported/run")), expected);
    let table = String::from_utf8(exported.stdout).unwrap();
    assert_eq!(table.lines().count(), 1 + expected.len(), "{table}");
    assert!(table.starts_with("step,actor/entropy,"), "{table:.80}");

    // Where there is no terminal, the inspector says what there is, and the report shows tokens.
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
        let output = in_process::run(command.args(arguments).arg(root.join("run")));
        assert_success(&output);
        String::from_utf8(output.stdout).unwrap()
    };
    let summary = run(&["inspect"]);
    assert!(summary.starts_with("run: 4 steps\n") && !summary.contains('\u{1b}'), "{summary}");
    assert!(
        summary.contains("step 4: ") && summary.contains("all 3 evaluations have the same"),
        "{summary}"
    );
    run(&["report"]);
    let page = std::fs::read_to_string(root.join("run/report.html")).unwrap();
    assert!(page.contains("<pre class=\"tokens\"") && page.contains("3 evaluations"));

    // After the evaluation of the last step, what it cost is said.
    let log = String::from_utf8_lossy(&resumed.stderr);
    let last = read_metrics(&root.join("run/metrics.jsonl")).unwrap().pop().unwrap();
    assert_eq!(last.get("law/from_evaluations"), Some(1.0));
    assert_eq!(last.get("law/points"), Some(3.0));
    assert!(log.contains("of entropy") && log.contains("all 3 evaluations have the same"), "{log}");
}

#[test]
fn tokens_of_a_group_are_recorded_with_what_the_loss_singled_out() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let all =
        ["metrics.token_groups=4", "algorithm.drop_uninformative_groups=false", "training.steps=1"];
    assert_success(&train(root, &all));
    let records = tokens(root, 1);
    assert_eq!(records.len(), 12);
    let metrics = read_metrics(&root.join("run/metrics.jsonl")).unwrap().pop().unwrap();
    let column = |of: fn(&TokenRecord) -> &[f64]| -> Vec<f64> {
        records.iter().flat_map(|record| of(record).iter().copied()).collect()
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let near = |found: f64, name: &str| {
        let expected = metrics.get(name).unwrap();
        assert!(
            (found - expected).abs() < 1e-4 * (1.0 + expected.abs()),
            "{name}: {found}, {expected}"
        );
    };
    near(mean(&column(|record| &record.entropy)), "actor/entropy");
    near(mean(&column(|record| &record.covariance)), "cov/mean");
    near(mean(&column(|record| &record.advantage)), "critic/advantages/mean");
    let selected: usize = records.iter().map(|r| r.selected.as_ref().map_or(0, Vec::len)).sum();
    near(selected as f64 / column(|r| &r.log_prob).len() as f64, "cov/selected_fraction");
    assert!(selected > 0);
    let samples = std::fs::read_to_string(root.join("run/samples/step-1.jsonl")).unwrap();
    for (record, line) in records.iter().zip(samples.lines()) {
        record.check().unwrap();
        let sample: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = record.text.concat();
        assert!(text.starts_with(sample["response"].as_str().unwrap()), "{text:?} and {line}");
        assert_eq!(sample["response_tokens"], record.token_ids.len());
    }
}

/// A limit on the size of files fails a write as a full disk does.
#[test]
fn event_files_that_cannot_be_written_are_named_and_the_run_goes_on_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let mut limited = Command::new("bash");
    // In KiB: the first step does not fit.
    limited.args(["-c", "trap '' XFSZ; ulimit -f 4; exec \"$0\" \"$@\""]);
    limited.arg(env!("CARGO_BIN_EXE_llm-trainer"));
    let output = train_by(limited, root, &[]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    let error = text.lines().last().unwrap_or_default();
    assert!(error.contains("tfevents") && error.contains("File too large"), "{text}");
    assert_success(&train(root, &[]));
    let steps: Vec<i64> = events(&root.join("run/events")).iter().map(|step| step.0).collect();
    assert_eq!(steps, [0, 1, 2, 3, 4]);
}

#[test]
fn neither_is_written_where_it_is_switched_off() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let off = ["metrics.token_groups=0", "metrics.tensorboard=false", "training.steps=1"];
    assert_success(&train(root, &off));
    assert!(!root.join("run/events").exists());
    assert!(!root.join("run/samples/step-1.tokens.jsonl").exists());
}
