//! Full runs that resample groups until they are informative, and that meet responses of excessive length.

use crate::training_run::{
    assert_success, column, comparable_metrics, steps, train, train_process, weights,
};

const SAMPLED: [&str; 3] = [
    "dynamic_sampling.enabled=true",
    "dynamic_sampling.max_batches=60",
    "dynamic_sampling.oversampling=4.0",
];

#[test]
fn every_group_of_a_step_has_rewards_that_differ() {
    let (plain, sampled) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_success(&train(plain.path(), &[]));
    assert_success(&train(sampled.path(), &SAMPLED));
    let informative = column(&steps(plain.path()), "rollout/informative_group_fraction");
    assert!(informative.iter().any(|&share| share < 1.0), "nothing to leave out: {informative:?}");
    let steps = steps(sampled.path());
    for share in column(&steps, "rollout/informative_group_fraction") {
        assert!((share - 1.0).abs() < 1e-12, "{share}");
    }
    assert!(column(&steps, "sampling/missing_groups").iter().all(|&missing| missing < 0.5));
    assert!(column(&steps, "sampling/asked_groups").iter().any(|&asked| asked > 4.0));
    let carried = column(&steps, "sampling/carried_groups");
    assert!(carried.iter().any(|&groups| groups > 0.0), "surplus is carried over: {carried:?}");
    // The policy moves at 1e-3 a step here; that a group waited is no mismatch.
    let mismatch = column(&steps, "rollout/mismatch_kl");
    assert!(mismatch.iter().all(|mismatch| mismatch.abs() < 1e-5), "{mismatch:?}");
}

#[test]
fn groups_that_wait_survive_a_resume_bit_for_bit() {
    let (uninterrupted, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_success(&train(uninterrupted.path(), &SAMPLED));
    assert_success(&train(parts.path(), &SAMPLED));
    let checkpoints = parts.path().join("run/checkpoints");
    assert!(checkpoints.join("step-2/trainer/waiting.json").is_file(), "some wait after step 2");
    std::fs::remove_dir_all(checkpoints.join("step-4")).unwrap();
    std::fs::write(checkpoints.join("latest"), "step-2\n").unwrap();
    assert_success(&train(parts.path(), &SAMPLED));
    assert_eq!(comparable_metrics(uninterrupted.path()), comparable_metrics(parts.path()));
    assert!(weights(uninterrupted.path()) == weights(parts.path()), "the weights differ");
}

#[test]
fn too_few_groups_stop_the_run_where_that_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = train_process(
        folder.path(),
        &[
            "dynamic_sampling.enabled=true",
            "dynamic_sampling.max_batches=1",
            "dynamic_sampling.when_short=stop",
            "dynamic_sampling.accuracy_low=1.0",
        ],
    );
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    let error = text.lines().last().unwrap_or_default();
    assert!(error.contains("step 1: 0 of 4 groups have rewards that differ after 1"), "{text}");
}

#[test]
fn masked_responses_take_no_part_in_an_update() {
    let folder = tempfile::tempdir().unwrap();
    // Two tokens are too few for most responses of a random model to end.
    let overrides = ["reward.overlong=mask", "rollout.max_response_tokens=2", "algorithm.epochs=1"];
    assert_success(&train(folder.path(), &overrides));
    let steps = steps(folder.path());
    let mut all_cut = 0;
    for step in &steps {
        let cut = step.get("rollout/truncated_fraction").unwrap();
        if cut >= 1.0 {
            all_cut += 1;
            assert_eq!(step.get("actor/grad_norm"), None, "an update of no response: {step:?}");
        }
    }
    assert!(all_cut > 0, "no step cut all its responses");
}

/// One update on the policy that sampled: the loss is minus the mean advantage over the tokens of the responses that ended, and the
/// share that KL-Cov selects is of these tokens.
#[test]
fn masked_responses_have_no_place_in_a_mean_or_a_share() {
    let folder = tempfile::tempdir().unwrap();
    let loss = "algorithm.policy_loss={ kl-cov = { fraction = 0.5, semantics = \"verl\" } }";
    let once = ["algorithm.epochs=1", "algorithm.mini_batch_prompts=4", "training.steps=4"];
    let overrides = [&once[..], &["reward.overlong=mask", loss]].concat();
    assert_success(&train(folder.path(), &overrides));
    let mut mixed = 0;
    for (index, step) in steps(folder.path()).iter().enumerate() {
        let path = folder.path().join(format!("run/samples/step-{}.jsonl", index + 1));
        let text = std::fs::read_to_string(path).unwrap();
        let samples: Vec<serde_json::Value> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let ended: Vec<_> = samples.iter().filter(|sample| sample["truncated"] == false).collect();
        if ended.is_empty() || ended.len() == samples.len() {
            continue;
        }
        mixed += 1;
        let (mut tokens, mut advantage) = (0.0, 0.0);
        for sample in ended {
            let length = sample["response_tokens"].as_f64().unwrap();
            tokens += length;
            advantage += length * sample["advantage"].as_f64().unwrap();
        }
        let close = |name: &str, expected: f64| {
            let measured = step.get(name).unwrap();
            assert!((measured - expected).abs() < 1e-6, "{name}: {measured} for {expected}");
        };
        close("actor/pg_loss", -advantage / tokens);
        close("cov/selected_fraction", (tokens / 2.0).floor() / tokens);
    }
    assert!(mixed > 0, "no step cut some responses and left others");
}

#[test]
fn a_soft_buffer_takes_from_long_responses() {
    let (plain, punished) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_success(&train(plain.path(), &["training.steps=1", "checkpoint.every=0"]));
    let buffer = "reward.overlong={soft-buffer={buffer_tokens=4, penalty_factor=0.5}}";
    assert_success(&train(punished.path(), &["training.steps=1", "checkpoint.every=0", buffer]));
    let (plain, punished) = (steps(plain.path()), steps(punished.path()));
    let least = column(&punished, "critic/rewards/min")[0];
    assert!(column(&plain, "critic/rewards/min")[0] >= 0.0 && least < 0.0, "{least}");
    assert_eq!(column(&plain, "critic/score/mean"), column(&punished, "critic/score/mean"));
}

#[test]
fn checkpoints_stay_by_every_rule_there_is() {
    let folder = tempfile::tempdir().unwrap();
    let rules = [
        "training.steps=6",
        "checkpoint.every=1",
        "checkpoint.keep=1",
        "checkpoint.keep_every=4",
        "checkpoint.keep_best=1",
        "checkpoint.best_metric=critic/rewards/mean",
        "evaluation.every=0",
    ];
    assert_success(&train(folder.path(), &rules));
    let rewards = column(&steps(folder.path()), "critic/rewards/mean");
    let best = (0..rewards.len()).max_by(|&a, &b| rewards[a].total_cmp(&rewards[b])).unwrap() + 1;
    let mut expected = vec![4, best, 6];
    expected.sort_unstable();
    expected.dedup();
    let left = |step: &usize| folder.path().join(format!("run/checkpoints/step-{step}")).is_dir();
    let remaining: Vec<usize> = (1..=6).filter(left).collect();
    assert_eq!(remaining, expected, "{rewards:?}");
}
