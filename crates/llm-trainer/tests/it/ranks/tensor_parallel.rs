//! One model over several ranks trains and draws as in one process.

use super::same_run::{WIDE, goes_on_as_one, is_the_run_of_one};
use super::{commands, finish, start};
use crate::fixture::directory;

/// Ranks that hold a model together wait for each other a few times a block and token: little is drawn here.
const SHORT: [&str; 4] = [
    "rollout.rows=12",
    "rollout.max_response_tokens=4",
    "algorithm.mini_batch_prompts=4",
    "evaluation.every=0",
];

/// The head tied to the embedding: both are cut by tokens, once.
#[test]
fn two_ranks_hold_a_model_together() {
    let cases: [(usize, &[&str]); 1] =
        [(2, &["parallel.tensor=2", "training.micro_batch_tokens=20"])];
    is_the_run_of_one(&[&SHORT[..], &["optimizer.weight_decay=0.1"]].concat(), &cases);
}

/// A head of its own, tokens drawn from a part of the vocabulary, an entropy term, a reference, blocks that are cut twice.
#[test]
fn parts_of_a_vocabulary_know_what_was_kept_of_the_whole() {
    let untied = format!("model.path={:?}", directory("tiny_qwen2_untied").display().to_string());
    let settings = [
        untied.as_str(),
        "rollout.temperature=0.8",
        "rollout.top_k=40",
        "algorithm.entropy_coefficient=0.01",
        "algorithm.reference_kl.placement=loss",
        "rollout.rows=12",
        "rollout.max_response_tokens=4",
        "evaluation.questions=2",
        "evaluation.temperature=0.0",
    ];
    is_the_run_of_one(&settings, &[(4, &["parallel.tensor=2", "parallel.zero=3"])]);
}

/// Checkpoints of parts are put together, and cut in other ways.
#[test]
fn a_run_goes_on_with_other_parts() {
    let stages: &[(usize, &[&str])] = &[
        (4, &["parallel.tensor=2", "parallel.zero=2"]),
        (1, &[]),
        (2, &["parallel.tensor=2"]),
        (2, &["parallel.zero=1"]),
    ];
    goes_on_as_one(&SHORT, &[stages]);
}

/// Said before anything is computed: what the model has two of cannot be cut in four, nor three processes in two.
#[test]
fn a_model_that_cannot_be_cut_is_refused() {
    let cases = [
        (
            4,
            "parallel.tensor=4",
            "`num_key_value_heads` is 2, expected a multiple of parallel.tensor = 4",
        ),
        (
            3,
            "parallel.tensor=2",
            "parallel.tensor is 2, expected a divisor of the number of processes, 3",
        ),
        (1, "parallel.tensor=2", "expected a divisor of the number of processes, 1"),
    ];
    for (count, setting, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        for output in finish(start(commands(count, folder.path(), &[WIDE, setting]))) {
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(text.contains(expected), "{text}");
        }
        assert!(!folder.path().join("run").exists());
    }
}
