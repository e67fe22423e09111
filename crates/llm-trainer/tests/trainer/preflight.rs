//! `llm-trainer preflight` on the recorded model, whose answers are noise.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::training_run::{assert_success, train, train_command};

fn preflight(root: &Path, overrides: &[&str], arguments: &[&str]) -> Output {
    let _config = train_command(root, &[]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    command.arg("preflight").arg(root.join("tiny.toml")).args(arguments);
    for one in overrides {
        command.args(["--set", one]);
    }
    command.output().expect("the binary of this crate runs")
}

#[test]
fn a_set_up_that_cannot_learn_is_refused_with_what_to_change() {
    let folder = tempfile::tempdir().unwrap();
    let output =
        preflight(folder.path(), &["reward.grading={ strict = true }"], &["--prompts", "6"]);
    assert_eq!(output.status.code(), Some(2));
    let shown = String::from_utf8_lossy(&output.stdout);
    for expected in [
        "the first of 6 prompts, as the model reads it:",
        "response 1 of 3 to question 3: not read (no answer found",
        "6 prompts × 3 responses",
        "  no answer found              1.000   mostly: no answer found, expected a box",
        "  right responses of a group, number of groups:\n      0     6  ████",
        "cannot learn: no answer was found in any response\n  data.prompt.template, reward.grading.strict: ask for \\boxed{}",
        "this run cannot learn",
    ] {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    let first = "llm-trainer: device cpu; dtype f32; 1 thread; 1 rank\npreflight 0/2 ";
    assert!(message.starts_with(first), "{message}");
    assert!(message.ends_with("\nerror: tiny: this run cannot learn, see above\n"), "{message}");
}

/// The questions, noise and group size are those of the run, so the counts are those that its first step logs.
#[test]
fn what_is_seen_is_what_the_first_step_draws() {
    let folder = tempfile::tempdir().unwrap();
    let output = preflight(folder.path(), &[], &["--prompts", "4", "--json"]);
    let seen: Value = serde_json::from_slice(&output.stdout).unwrap();
    let trained = train(folder.path(), &["training.steps=1", "evaluation.every=0"]);
    assert_success(&trained);
    let step = &crate::training_run::steps(folder.path())[0];
    for (field, metric) in [
        ("unparsed_fraction", "rollout/unparsed_fraction"),
        ("truncated_fraction", "rollout/truncated_fraction"),
        ("right_fraction", "critic/score/mean"),
        ("teaching_group_fraction", "rollout/informative_group_fraction"),
        ("mean_entropy", "actor/entropy"),
    ] {
        let (seen, logged) = (seen[field].as_f64().unwrap(), step.get(metric).unwrap());
        assert!((seen - logged).abs() < 1e-12, "{field}: {seen} {logged}");
    }
}
