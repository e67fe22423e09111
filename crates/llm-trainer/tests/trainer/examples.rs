//! The examples run and do what their pages say.

use crate::fixture::{directory, one_thread};
use crate::training_run::{column, steps, write_config};

#[path = "../../examples/custom_run.rs"]
#[expect(dead_code, reason = "its `main` is for the command line")]
pub(crate) mod custom_run;
#[path = "../../examples/minimal_loop.rs"]
#[expect(dead_code, reason = "its `main` is for the command line")]
mod minimal_loop;

/// A tenth of the vocabulary's bytes at most are digits, and random weights draw them as often as any: 10 of 256.
#[test]
fn the_minimal_loop_learns_and_its_entropy_falls() {
    one_thread();
    let mut out = Vec::new();
    let steps = minimal_loop::run(&directory("tiny_qwen2_tied"), 40, &mut out).unwrap();
    let mean = |steps: &[minimal_loop::Measured], of: fn(&minimal_loop::Measured) -> f64| {
        steps.iter().map(of).sum::<f64>() / steps.len() as f64
    };
    let reward = |at: std::ops::Range<usize>| mean(&steps[at], |step| step.reward);
    let entropy = |at: std::ops::Range<usize>| mean(&steps[at], |step| step.entropy);
    assert!(reward(0..1) < 0.1, "{steps:?}");
    assert!(reward(37..40) > 0.7, "{steps:?}");
    assert!(entropy(37..40) < entropy(0..1) - 2.0, "{steps:?}");
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.lines().count(), 40);
    assert!(text.starts_with("step   1  reward 0.0"), "{text}");
}

/// Every reward in the run's files is that of the function, which `reward.values` could not give.
#[test]
fn a_run_with_a_reward_of_its_own_is_trained_by_it() {
    one_thread();
    let root = tempfile::tempdir().unwrap();
    let config = write_config(root.path());
    let mut out = Vec::new();
    let run = custom_run::run(&config, &["training.steps=2".to_owned()], &mut out).unwrap();
    let logged = column(&steps(root.path()), "critic/rewards/mean");
    assert_eq!(logged.len(), 2);
    for step in 1..=2 {
        let samples =
            std::fs::read_to_string(run.join(format!("samples/step-{step}.jsonl"))).unwrap();
        let mut rewards = Vec::new();
        for line in samples.lines() {
            let sample: serde_json::Value = serde_json::from_str(line).unwrap();
            let tokens = sample["response_tokens"].as_u64().expect("a length") as f64;
            let expected = match sample["verdict"].as_str() {
                Some("right") => 1.0 - 1e-3 * tokens,
                Some("wrong") => 0.1 * (1.0 - 1e-3 * tokens),
                _ => -0.5,
            };
            let reward = sample["reward"].as_f64().expect("a reward");
            assert!((reward - expected).abs() < 1e-12, "{line}");
            rewards.push(reward);
        }
        let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
        assert!((mean - logged[step - 1]).abs() < 1e-12 && rewards.len() == 12);
    }
    assert!(String::from_utf8(out).unwrap().starts_with("step   1 of 2  reward "));
}

/// The loss is no part of a checkpoint; given again, the run goes on to the bit.
#[test]
fn a_run_with_a_loss_of_its_own_resumes() {
    one_thread();
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let train = |root: &tempfile::TempDir, steps: u64| {
        let overrides = [format!("training.steps={steps}"), "checkpoint.every=1".to_owned()];
        custom_run::run(&write_config(root.path()), &overrides, &mut Vec::new()).unwrap();
    };
    train(&folders[0], 3);
    train(&folders[1], 1);
    train(&folders[1], 3);
    for name in ["actor/pg_loss", "actor/grad_norm", "actor/entropy"] {
        let [unbroken, resumed] = folders.each_ref().map(|root| column(&steps(root.path()), name));
        assert_eq!((unbroken.len(), &unbroken), (3, &resumed), "{name}");
    }
}
