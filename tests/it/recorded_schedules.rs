//! The recorded learning rates of the published codes: ours are theirs without the step that runs at 0.

use serde_json::Value;
use training_run::schedule::{Decay, Schedule};

const VECTORS: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../crates/rl-losses/tests/data/loss_vectors.json"
));

#[test]
fn a_warm_up_is_the_published_one_without_its_step_at_rate_zero() {
    let vectors: Value = serde_json::from_str(VECTORS).expect("the file is JSON");
    let case = vectors["cases"]
        .as_array()
        .and_then(|cases| cases.iter().find(|case| case["name"] == "lr_warmup"))
        .expect("the case is recorded");
    let peak = case["params"]["lr"].as_f64().expect("a peak");
    let theirs = |name: &str| -> Vec<f64> {
        let rates = case["outputs"][name].as_array().expect("a column of rates");
        rates.iter().map(|rate| rate.as_f64().expect("a rate")).collect()
    };
    // Name there, warm-up steps here, steps at rate 0 there.
    for (name, warmup_steps, idle) in
        [("verl_warmup0", 0, 0), ("prime_fork_warmup0", 0, 1), ("verl_warmup2", 1, 1)]
    {
        let schedule = Schedule { decay: Decay::Constant, warmup_steps, total_steps: 100 };
        let theirs = theirs(name);
        assert!(theirs[..idle].iter().all(|rate| rate.abs() < f64::MIN_POSITIVE), "{name}");
        for (step, rate) in theirs[idle..].iter().enumerate() {
            let ours = peak * schedule.factor(step as u64);
            assert!((ours / rate - 1.0).abs() < 1e-15, "{name}, step {step}: {ours} {rate}");
        }
    }
}
