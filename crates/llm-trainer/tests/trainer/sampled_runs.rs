//! Runs whose sampling leaves tokens out or ends responses early.

use crate::training_run::{assert_success, column, steps, train, train_process};

const TRUNCATED: [&str; 4] = [
    "rollout.top_k=50",
    "rollout.top_p=0.7",
    "rollout.min_p=0.02",
    "algorithm.mini_batch_prompts=4",
];

/// With one update a batch, the policy that is trained is the one that sampled: rollout and training agree, and no token is
/// on another side of the clip. Over the whole vocabulary the log-probabilities would differ by the mass left out.
#[test]
fn truncated_sampling_and_training_agree_on_every_log_prob() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &TRUNCATED));
    let steps = steps(folder.path());
    for mismatch in column(&steps, "rollout/mismatch_kl") {
        assert!(mismatch.abs() < 1e-6, "{mismatch}");
    }
    assert!(column(&steps, "actor/grad_norm").iter().any(|&norm| norm > 0.0));
    for kl in column(&steps, "actor/ppo_kl") {
        assert!(kl.abs() < 1e-12, "{kl}");
    }
}

#[test]
fn stop_strings_and_ids_end_the_responses_of_a_run() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &["rollout.max_response_tokens=20"]));
    let free = column(&steps(folder.path()), "response_length/mean");
    let letters: Vec<String> =
        ('a'..='z').map(|letter| format!("{letter:?}").replace('\'', "\"")).collect();
    let ids: Vec<String> = (65..91).map(|id: u32| id.to_string()).collect();
    let stopping = [
        format!("rollout.stop=[{}]", letters.join(",")),
        format!("rollout.stop_token_ids=[{}]", ids.join(",")),
    ];
    let folder = tempfile::tempdir().unwrap();
    let all = ["rollout.max_response_tokens=20", &stopping[0], &stopping[1]];
    assert_success(&train(folder.path(), &all));
    let stopped = column(&steps(folder.path()), "response_length/mean");
    // 52 of 256 tokens end a response: after 5 tokens on average, where most went to the limit.
    assert!(stopped[0] < 0.7 * free[0], "{stopped:?} {free:?}");
    let samples = std::fs::read_to_string(folder.path().join("run/samples/step-1.jsonl")).unwrap();
    for line in samples.lines() {
        let sample: serde_json::Value = serde_json::from_str(line).unwrap();
        let text = sample["response"].as_str().unwrap();
        assert!(!text.contains(|letter: char| letter.is_ascii_lowercase()), "{text:?}");
    }
}

#[test]
fn stop_ids_beyond_the_vocabulary_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let output = train_process(folder.path(), &["rollout.stop_token_ids=[256]"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("rollout.stop_token_ids holds 256, expected ids below vocab_size = 256"),
        "{text}"
    );
}
