//! `softmax-sim micro-batch`: what selection within micro-batches loses.

use serde_json::{Value, json};
use softmax_sim::micro_batch::{Comparison, MadeUp, MiniBatch, compare};
use std::process::{Command, Output};

fn made_up() -> MiniBatch {
    MadeUp { groups: 8, group_size: 8, tokens: 64, seed: 0 }.sample().expect("groups of responses")
}

fn micro_batch(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_softmax-sim"))
        .arg("micro-batch")
        .args(arguments)
        .output()
        .expect("the binary was built with the tests")
}

#[test]
fn one_response_has_no_covariance_and_all_of_them_have_that_of_the_mini_batch() {
    let batch = made_up();
    let Comparison { rows, responses, tokens, .. } = compare(&batch, &[1, 64]).unwrap();
    assert_eq!((responses, tokens), (64, 4096));
    let [one, all] = rows.as_slice() else { panic!("two sizes") };
    assert!((one.without_covariance - 1.0).abs() < 1e-12, "{one:?}");
    assert_eq!((one.clip_cov_eligible, one.clip_cov_overlap), (0, Some(0.0)));
    // The published code takes at least one token of each micro-batch.
    assert_eq!(one.kl_cov_selected, 64);
    assert!(one.kl_cov_overlap < Some(0.5), "{one:?}");
    assert_eq!((all.clip_cov_overlap, all.kl_cov_overlap), (Some(1.0), Some(1.0)));
    assert!(all.without_covariance.abs() < 1e-12);
}

#[test]
fn eligible_tokens_are_those_in_the_band() {
    let batch = made_up();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (advantage, log_prob) = (mean(&batch.advantage), mean(&batch.log_prob));
    let covariances = batch.advantage.iter().zip(&batch.log_prob);
    let in_band = covariances
        .map(|(a, l)| (a - advantage) * (l - log_prob))
        .filter(|covariance| (1.0..=5.0).contains(covariance))
        .count();
    assert!(in_band > 20, "a test of few tokens: {in_band}");
    assert_eq!(compare(&batch, &[]).unwrap().clip_cov_eligible, in_band);
}

#[test]
fn saved_rollouts_are_read_and_a_bad_group_is_named() {
    let sample = |log_probs: &[f64]| json!({ "rollout_log_prob": log_probs, "text": "x" });
    let group = |rewards: &[f64]| {
        let samples = [sample(&[-0.1, -2.0]), sample(&[-0.3])];
        json!({ "rewards": rewards, "right": 1, "responses": { "question": 0, "samples": samples } })
    };
    let lines = |groups: &[Value]| {
        let header = [json!({ "step": 1, "groups": 2 }), json!({ "waiting": [] })];
        let all = header.iter().chain(groups).map(Value::to_string);
        all.collect::<Vec<_>>().join("\n")
    };
    let text = lines(&[group(&[1.0, 0.0]), group(&[0.0, 0.0])]);
    let batch = MiniBatch::read(text.as_bytes()).unwrap();
    assert_eq!(batch.lengths, [2, 1, 2, 1]);
    assert_eq!(batch.log_prob[..3], [-0.1, -2.0, -0.3]);
    // (1 - 1/2) / (sqrt(1/2) + 1e-6), the same for both tokens of the response.
    let expected = 0.5 / (0.5_f64.sqrt() + 1e-6);
    assert!((batch.advantage[0] - expected).abs() < 1e-12 && batch.advantage[0] > 0.7);
    assert!((batch.advantage[1] - expected).abs() < 1e-12);
    assert!((batch.advantage[2] + expected).abs() < 1e-12 && batch.advantage[3].abs() < 1e-12);

    let error = MiniBatch::read(lines(&[group(&[1.0])]).as_bytes()).unwrap_err();
    assert!(error.to_string().starts_with("line 3: 1 rewards for 2 responses"), "{error}");
    let error = MiniBatch::read("no JSON\n".as_bytes()).unwrap_err();
    assert!(error.to_string().starts_with("line 1: expected "), "{error}");
    let error = MiniBatch::read("{}\n".as_bytes()).unwrap_err();
    assert!(error.to_string().starts_with("no group of responses: expected `step-N"), "{error}");
}

#[test]
fn the_readme_shows_what_the_command_prints() {
    let text = String::from_utf8(micro_batch(&[]).stdout).unwrap();
    let table = text.split("\n\nwithout covariance:").next().unwrap();
    let readme = workspace_tests::book::root().join("README.md");
    let readme = std::fs::read_to_string(readme).unwrap();
    assert!(readme.contains(table), "{table}");
}

#[test]
fn the_command_prints_a_table_or_json_and_refuses_nothing_to_compare() {
    let output = micro_batch(&["--sizes", "1,8", "--tokens", "32"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("64 responses, 2048 tokens. Over the mini-batch"), "{text}");
    assert!(text.contains("\n          1          1.00        0     0.00"), "{text}");

    let output = micro_batch(&["--json", "--sizes", "2", "--tokens", "32"]);
    let comparison: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(comparison["rows"][0]["responses"], 2);

    let too_many = ["--tokens", "9999999999999999999"];
    for wrong in [&["--sizes", "0"][..], &["--rollout", "/nowhere/step-1.jsonl"], &too_many] {
        let output = micro_batch(wrong);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        let line = String::from_utf8(output.stderr).unwrap();
        assert!(line.starts_with("error: ") && line.trim_end().lines().count() == 1, "{line}");
    }
}
