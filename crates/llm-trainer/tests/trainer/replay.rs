//! Rollouts that are saved and replayed, and judged on several threads.

use std::path::Path;
use std::process::Output;

use crate::fixture::directory;
use crate::training_run::{
    assert_success, column, comparable_metrics, steps, train, train_command, train_process, weights,
};

/// Groups that wait between steps, tokens left out: everything that a file must hold.
const SAMPLED: [&str; 6] = [
    "dynamic_sampling.enabled=true",
    "dynamic_sampling.max_batches=60",
    "dynamic_sampling.oversampling=4.0",
    "rollout.top_p=0.9",
    "evaluation.every=0",
    "checkpoint.every=0",
];

fn with(root: &Path, overrides: &[&str], option: &str, folder: &Path) -> Output {
    train_command(root, overrides).arg(option).arg(folder).output().expect("the binary runs")
}

#[test]
fn a_replayed_run_makes_the_same_updates_to_the_bit() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let rollouts = first.path().join("rollouts");
    assert_success(&with(first.path(), &SAMPLED, "--save-rollouts", &rollouts));
    assert_eq!(std::fs::read_dir(&rollouts).unwrap().count(), 4);
    let replayed = with(second.path(), &SAMPLED, "--replay-rollouts", &rollouts);
    assert_success(&replayed);
    assert!(!String::from_utf8_lossy(&replayed.stderr).contains("other weights"));
    assert_eq!(comparable_metrics(first.path()), comparable_metrics(second.path()));
    assert!(weights(first.path()) == weights(second.path()), "the weights differ");
    let generated = |root| steps(root)[0].get("perf/generated_tokens_per_second");
    assert!(generated(first.path()).is_some() && generated(second.path()).is_none());
}

#[test]
fn another_update_on_the_same_responses_is_possible_and_said() {
    let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let rollouts = first.path().join("rollouts");
    let plain = ["evaluation.every=0"];
    assert_success(&with(first.path(), &plain, "--save-rollouts", &rollouts));
    let other =
        ["evaluation.every=0", "algorithm.policy_loss=cispo", "optimizer.learning_rate=1e-2"];
    let replayed = with(second.path(), &other, "--replay-rollouts", &rollouts);
    assert_success(&replayed);
    let text = String::from_utf8_lossy(&replayed.stderr);
    assert!(
        !text.contains("step 1: the replayed") && text.contains("step 2: the replayed"),
        "{text}"
    );
    let mismatch = column(&steps(second.path()), "rollout/mismatch_kl");
    assert!(mismatch[0].abs() < 1e-6 && mismatch[3].abs() > 1e-6, "{mismatch:?}");
    let rewards = |root| column(&steps(root), "critic/rewards/mean");
    assert_eq!(rewards(first.path()), rewards(second.path()));
}

#[test]
fn rollouts_of_another_run_are_refused_before_a_run_is_left_behind() {
    let first = tempfile::tempdir().unwrap();
    let rollouts = first.path().join("rollouts");
    let short = ["evaluation.every=0", "training.steps=1"];
    assert_success(&with(first.path(), &short, "--save-rollouts", &rollouts));
    let refused = |overrides: &[&str], expected: &str| {
        let folder = tempfile::tempdir().unwrap();
        let all = [&short, overrides].concat();
        let output = with(folder.path(), &all, "--replay-rollouts", &rollouts);
        assert_eq!(output.status.code(), Some(2));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(text.contains(expected), "{text}");
    };
    let untied = format!("model.path={:?}", directory("tiny_qwen2_untied").display().to_string());
    refused(&[&untied], "the weights of model.path were others");
    refused(&["rollout.temperature=0.5"], "`rollout.temperature` was 1.0, and is 0.5");
    refused(&["data.train.arithmetic.seed=2"], "another prompt than that of question");
    refused(&["training.steps=2"], "no rollout of step 2, only of step 1");
    let folder = tempfile::tempdir().unwrap();
    let none = with(folder.path(), &short, "--replay-rollouts", &folder.path().join("none"));
    assert_eq!(none.status.code(), Some(2));
    assert!(!folder.path().join("run").exists(), "a folder that is not there left a run behind");
}

#[test]
fn rewards_do_not_depend_on_the_threads_that_judge() {
    let samples = |threads: &str| {
        let folder = tempfile::tempdir().unwrap();
        assert_success(&train(folder.path(), &[threads, "evaluation.every=0", "training.steps=2"]));
        let read = |step| {
            std::fs::read_to_string(folder.path().join(format!("run/samples/step-{step}.jsonl")))
        };
        (read(1).unwrap(), read(2).unwrap())
    };
    assert_eq!(samples("reward.threads=1"), samples("reward.threads=4"));
}

#[test]
fn answers_are_compared_by_the_kind_of_their_source() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("letters.jsonl");
    let rows: Vec<String> =
        (0..8).map(|row| format!("{{\"problem\": \"q{row}\", \"answer\": \"B\"}}")).collect();
    std::fs::write(&file, rows.join("\n")).unwrap();
    let source = format!("data.train={{file={{path={:?}}}}}", file.display().to_string());
    let run = |kind: &str| {
        let folder = tempfile::tempdir().unwrap();
        let output = train_process(
            folder.path(),
            &[&source, kind, "training.steps=1", "evaluation.every=0"],
        );
        (folder, output)
    };
    let (folder, output) = run("reward.kind_by_source={letters=\"multiple-choice\"}");
    assert_success(&output);
    assert!(folder.path().join("run/samples/step-1.jsonl").is_file());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!text.contains("note:"), "{text}");

    std::fs::write(&file, "{\"problem\": \"q\", \"answer\": \"12\"}\n").unwrap();
    let (_, output) = run("reward.kind=multiple-choice");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("letters.jsonl") && text.contains("the letter of a choice"), "{text}");
}

/// A run reports faults of its data before the first step.
#[test]
fn a_run_says_what_is_odd_about_its_data() {
    let data = tempfile::tempdir().unwrap();
    let file = data.path().join("sums.jsonl");
    let rows = "{\"problem\": \"1+1=\", \"answer\": \"2\"}\n{\"problem\": \"1+1=\", \"answer\": \"3\"}\n\
                {\"problem\": \"123456789+1=\", \"answer\": \"123456790\"}\n{\"problem\": \"2+2=\"}\n";
    std::fs::write(&file, rows).unwrap();
    let source =
        format!("data.train={{file={{path={:?}, bad_rows=\"drop\"}}}}", file.display().to_string());
    let folder = tempfile::tempdir().unwrap();
    let overrides =
        [&source, "data.over_long_prompts=drop", "training.steps=1", "evaluation.every=0"];
    let output = train_process(folder.path(), &overrides);
    assert_success(&output);
    let text = String::from_utf8_lossy(&output.stderr);
    for expected in [
        "note: data.train: 1 bad rows were left out",
        "note: data.train: 1 questions stand there more than once, 1 of them with different answers",
        "note: data.train: 1 prompts longer than data.max_prompt_tokens were left out",
    ] {
        assert!(text.contains(expected), "{text}");
    }
}
