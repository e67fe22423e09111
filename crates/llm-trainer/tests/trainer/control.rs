//! Reference, thermostat and guards in whole runs.

use training_run::metrics::StepMetrics;

use crate::fixture::said_beside_the_device;
use crate::training_run::{
    assert_success, column, comparable_metrics, goes_on_bit_for_bit, steps, train, train_process,
    weights,
};

/// A thermostat on KL-Cov's share, and an adaptive pull to the policy before the run.
const CONTROLLED: [&str; 7] = [
    "algorithm.epochs=2",
    "algorithm.reference_kl.coefficient.adaptive.horizon=20",
    "algorithm.reference_kl.coefficient.adaptive.initial=0.05",
    "algorithm.thermostat.knob=fraction",
    "algorithm.thermostat.target={start=5.0, end=2.0, steps=8}",
    "algorithm.thermostat.low=0.001",
    "algorithm.thermostat.high=0.9",
];

#[test]
fn controllers_go_on_where_they_were_bit_for_bit() {
    let (uninterrupted, parts) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_success(&train(uninterrupted.path(), &CONTROLLED));
    assert_success(&train(parts.path(), &CONTROLLED));
    let checkpoints = parts.path().join("run/checkpoints");
    std::fs::remove_dir_all(checkpoints.join("step-4")).unwrap();
    std::fs::write(checkpoints.join("latest"), "step-2\n").unwrap();
    assert_success(&train(parts.path(), &CONTROLLED));
    assert_eq!(comparable_metrics(uninterrupted.path()), comparable_metrics(parts.path()));
    assert!(weights(uninterrupted.path()) == weights(parts.path()), "the weights differ");
}

#[test]
fn controllers_move_by_what_they_measure() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &CONTROLLED));
    let steps = steps(folder.path());
    let knob = column(&steps, "control/knob");
    assert!((knob[0] - 0.1).abs() < 1e-12, "it starts where the loss has it: {knob:?}");
    let errors = column(&steps, "control/target_entropy")
        .into_iter()
        .zip(column(&steps, "actor/entropy"))
        .map(|(target, entropy)| target - entropy);
    for (next, error) in knob[1..].iter().zip(errors) {
        assert!((next - 0.1) * error > 0.0, "more of it where entropy lacks: {knob:?}");
    }
    let divergence = column(&steps, "actor/reference_kl");
    assert!(divergence[0].abs() < 1e-6, "the first policy is the reference: {divergence:?}");
    assert!(divergence[1..].iter().all(|divergence| divergence.abs() > 1e-6), "{divergence:?}");
    let coefficient = column(&steps, "actor/kl_coef");
    assert!((coefficient[0] - 0.05).abs() < 1e-12);
    assert!(coefficient[1] < coefficient[0], "no divergence yet: {coefficient:?}");
}

#[test]
fn an_annealed_coefficient_falls_straight_to_the_end_of_the_run() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &["algorithm.epochs=2", "algorithm.annealing={end=0.0}"]));
    let knob = column(&steps(folder.path()), "control/knob");
    let (first, count) = (knob[0], knob.len() as f64);
    assert!(first > 0.0, "{knob:?}");
    for (done, knob) in knob.iter().enumerate() {
        assert!((knob - first * (1.0 - done as f64 / count)).abs() < 1e-12, "{knob}");
    }
}

/// A random model names the right digit in a few of a hundred responses: some groups have one, most have none.
pub(crate) const BY_DIFFICULTY: [&str; 8] = [
    "rollout.group_size=8",
    "rollout.prompts_per_step=8",
    "rollout.max_response_tokens=16",
    "algorithm.thermostat.knob=fraction",
    "algorithm.thermostat.target={start=5.0, end=5.0, steps=1}",
    "algorithm.thermostat.low=0.001",
    "algorithm.thermostat.high=0.9",
    "algorithm.thermostat.accuracy_edges=[0.05]",
];

#[test]
fn a_thermostat_for_each_difficulty_moves_by_the_entropy_of_its_prompts() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &BY_DIFFICULTY));
    let steps = steps(folder.path());
    assert!(steps.iter().all(|step| step.get("control/knob").is_none()));
    let target = column(&steps, "control/target_entropy");
    for bucket in ["hardest", "easiest"] {
        let knob = column(&steps, &format!("control/knob_{bucket}"));
        assert!((knob[0] - 0.1).abs() < 1e-12, "it starts where the loss has it: {knob:?}");
        let entropy = format!("control/entropy_{bucket}");
        let entropies: Vec<Option<f64>> = steps.iter().map(|step| step.get(&entropy)).collect();
        assert!(entropies[..3].iter().any(Option::is_some), "no {bucket} prompts");
        for (step, pair) in knob.windows(2).enumerate() {
            let error = entropies[step].map_or(0.0, |entropy| target[step] - entropy);
            let moved = (pair[1] - pair[0]).abs() > 1e-12;
            assert_eq!(moved, entropies[step].is_some(), "step {step}, {bucket}: {knob:?}");
            assert!((pair[1] - pair[0]) * error >= 0.0, "step {step}, {bucket}: {knob:?}");
        }
    }
}

#[test]
fn thermostats_by_difficulty_go_on_bit_for_bit() {
    goes_on_bit_for_bit(&BY_DIFFICULTY);
}

#[test]
fn a_pull_of_no_strength_changes_no_bit() {
    let (plain, pulled) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_success(&train(plain.path(), &[]));
    for placement in ["loss", "reward"] {
        let placement = format!("algorithm.reference_kl.placement={placement}");
        let none = "algorithm.reference_kl.coefficient.fixed=0.0";
        assert_success(&train(pulled.path(), &[&placement, none]));
        assert!(weights(plain.path()) == weights(pulled.path()), "{placement}");
        std::fs::remove_dir_all(pulled.path().join("run")).unwrap();
    }
}

#[test]
fn a_divergence_in_the_reward_changes_the_advantages() {
    let (plain, pulled) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    assert_success(&train(plain.path(), &[]));
    let overrides = [
        "algorithm.reference_kl.placement=reward",
        "algorithm.reference_kl.estimator=k1",
        "algorithm.reference_kl.coefficient.fixed=2.0",
    ];
    assert_success(&train(pulled.path(), &overrides));
    let (plain, pulled) = (steps(plain.path()), steps(pulled.path()));
    // The rewards reported stay the verifier's; what is taken off them shows in the advantages.
    assert_eq!(
        column(&plain[..1], "critic/rewards/mean"),
        column(&pulled[..1], "critic/rewards/mean")
    );
    let spread = |steps: &[StepMetrics]| column(steps, "critic/advantages/max");
    assert_ne!(spread(&plain), spread(&pulled));
    assert!(pulled.iter().all(|step| step.get("actor/kl_loss").is_none()));
}

#[test]
fn the_theorems_and_quadrants_are_measured_at_each_step() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &[]));
    let steps = steps(folder.path());
    for (theorem, covariance) in
        [("entropy/theorem1_batch", "cov/theorem1"), ("entropy/theorem2_batch", "cov/mean")]
    {
        for (value, expected) in column(&steps, theorem).iter().zip(column(&steps, covariance)) {
            assert!((value + expected).abs() < 1e-9 * expected.abs() + 1e-12, "{theorem}");
        }
    }
    let quadrants = ["up_likely", "up_unlikely", "down_likely", "down_unlikely"]
        .map(|name| column(&steps, &format!("quadrant/{name}")));
    for step in 0..steps.len() {
        let pushed: f64 = quadrants.iter().map(|shares| shares[step]).sum();
        assert!((0.0..=1.0 + 1e-12).contains(&pushed), "{pushed}");
    }
    assert!(quadrants.iter().flatten().any(|&share| share > 0.0));
}

#[test]
fn a_guard_saves_and_ends_the_run_with_its_reason() {
    let folder = tempfile::tempdir().unwrap();
    let output = train_process(folder.path(), &["guard.entropy_min=100", "guard.action=stop"]);
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    let error = text.lines().last().unwrap_or_default();
    assert!(
        error.starts_with("error: tiny stopped after step 1, which is saved: entropy"),
        "{text}"
    );
    assert!(error.ends_with("is below guard.entropy_min = 100"), "{text}");
    assert!(folder.path().join("run/checkpoints/step-1/model.safetensors").is_file());
}

#[test]
fn a_guard_backs_off_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let output = train_process(folder.path(), &["guard.entropy_min=100", "guard.action=back-off"]);
    assert_success(&output);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(text.matches("is below guard.entropy_min = 100").count(), 4, "{text}");
    let steps = steps(folder.path());
    assert_eq!(column(&steps, "actor/lr"), [1e-3, 5e-4, 2.5e-4, 1.25e-4]);
}

#[test]
fn a_method_that_cannot_act_is_said_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let output = train_process(folder.path(), &["algorithm.mini_batch_prompts=4"]);
    assert_success(&output);
    let text = said_beside_the_device(&output.stderr);
    assert!(
        text.starts_with("tiny: warning: kl-cov does nothing: with one optimiser step"),
        "{text}"
    );
    let two = tempfile::tempdir().unwrap();
    let output = train_process(two.path(), &[]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("does nothing"));
}

/// With a target above the entropy of any policy the weight rises; with a target below it, the weight is zero.
#[test]
fn the_weight_of_the_entropy_bonus_moves_by_what_the_entropy_is() {
    let settings = |target: f64| {
        let set = |field: &str, value: f64| format!("algorithm.adaptive_entropy.{field}={value:?}");
        [set("target", target), set("step", 0.5), set("maximum", 1.2), set("initial", 0.25)]
    };
    let [below, above, plain] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    for (folder, target) in [(&below, 100.0), (&above, 0.01)] {
        let overrides = settings(target);
        assert_success(&train(folder.path(), &overrides.each_ref().map(String::as_str)));
    }
    assert_success(&train(plain.path(), &[]));
    assert_eq!(column(&steps(below.path()), "actor/entropy_coeff"), [0.25, 0.75, 1.2, 1.2]);
    assert_eq!(column(&steps(above.path()), "actor/entropy_coeff"), [0.25, 0.0, 0.0, 0.0]);
    let last = |root: &std::path::Path| column(&steps(root), "actor/entropy")[3];
    assert!(last(below.path()) > last(plain.path()), "a bonus keeps entropy");
    let overrides = settings(100.0);
    goes_on_bit_for_bit(&overrides.each_ref().map(String::as_str));
}
