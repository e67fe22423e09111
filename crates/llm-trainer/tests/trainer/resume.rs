//! `--resume`: where a run goes on.

use std::path::Path;
use std::process::Output;

use training_run::metrics::StepMetrics;

use crate::fixture::said_beside_the_device;
use crate::training_run::{
    assert_success, comparable_metrics, steps, train, train_command, weights,
};

fn resume(root: &Path, from: &str, overrides: &[&str]) -> Output {
    let mut command = train_command(root, overrides);
    command.args(["--resume", from]).output().expect("the binary of this crate runs")
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    let text = said_beside_the_device(&output.stderr).trim_end().to_owned();
    assert_eq!(text.lines().count(), 1, "{text}");
    text
}

#[test]
fn a_run_taken_up_at_an_earlier_checkpoint_comes_to_the_same_end() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &[]));
    let (metrics, end) = (comparable_metrics(folder.path()), weights(folder.path()));
    let earlier = folder.path().join("run/checkpoints/step-2");
    let output = resume(folder.path(), earlier.to_str().unwrap(), &[]);
    assert_success(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("going on after step 2 of 4"), "{text}");
    assert_eq!(comparable_metrics(folder.path()), metrics);
    assert!(weights(folder.path()) == end, "the weights differ");
}

/// Another folder, and a longer run: its first steps are those of the run it branches off.
#[test]
fn a_branch_of_another_run_goes_on_bit_for_bit_and_survives_a_crash_at_once() {
    let [uninterrupted, short, branch] = [(); 3].map(|()| tempfile::tempdir().unwrap());
    assert_success(&train(uninterrupted.path(), &[]));
    assert_success(&train(short.path(), &[]));
    let origin = short.path().join("run/checkpoints/step-2");
    let output = resume(branch.path(), origin.to_str().unwrap(), &[]);
    assert_success(&output);
    // The first steps are those of the run it came from.
    assert_eq!(comparable_metrics(uninterrupted.path()), comparable_metrics(branch.path()));
    assert!(weights(uninterrupted.path()) == weights(branch.path()), "the weights differ");
    let kept = std::fs::read(branch.path().join("run/checkpoints/step-2/model.safetensors"));
    let given = std::fs::read(origin.join("model.safetensors"));
    assert!(kept.unwrap() == given.unwrap(), "the branch keeps where it began");

    // What is there is a run like any other.
    let again = train(branch.path(), &[]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("all 4 steps are done"));
    let twice = refused(&resume(branch.path(), origin.to_str().unwrap(), &[]));
    assert!(twice.contains("holds a run with a checkpoint of step 4, expected none"), "{twice}");
}

/// Settings that do not affect the results may change on resumption: most keep all bits, those that reorder sums
/// change rounding.
#[test]
fn a_run_goes_on_in_its_folder_with_other_steps_intervals_and_batches() {
    let [uninterrupted, resumed] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let exact = ["model.dtype=f64"];
    assert_success(&train(uninterrupted.path(), &exact));
    assert_success(&train(resumed.path(), &[exact[0], "training.steps=2", "checkpoint.every=2"]));
    let further = [
        exact[0],
        "checkpoint.every=1",
        "checkpoint.keep=0",
        "metrics.token_groups=0",
        "training.activation_bytes=1000",
        "parallel.timeout_seconds=60",
    ];
    let output = train(resumed.path(), &further);
    assert_success(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("going on after step 2 of 4"), "{text}");
    assert!(text.contains("goes on with training.steps = 4, before 2"), "{text}");
    assert_eq!(comparable_metrics(uninterrupted.path()), comparable_metrics(resumed.path()));
    assert!(weights(uninterrupted.path()) == weights(resumed.path()), "the weights differ");
    let folder = resumed.path().join("run");
    let config = std::fs::read_to_string(folder.join("config.toml")).unwrap();
    assert!(
        config.contains("steps = 4\n") && config.contains("timeout_seconds = 60\n"),
        "{config}"
    );
    let history = std::fs::read_to_string(folder.join("changes.jsonl")).unwrap();
    let steps = r#"{"after_step":2,"before":"2","field":"training.steps","now":"4"}"#;
    assert!(history.lines().count() == 6 && history.contains(steps), "{history}");

    let at_two = folder.join("checkpoints/step-2");
    let other = [&further[..], &["training.micro_batch_tokens=20"]].concat();
    assert_success(&resume(resumed.path(), at_two.to_str().unwrap(), &other));
    let another =
        r#"{"after_step":2,"before":"64","field":"training.micro_batch_tokens","now":"20"}"#;
    let longer = std::fs::read_to_string(folder.join("changes.jsonl")).unwrap();
    assert_eq!(longer, format!("{history}{another}\n"), "old lines are kept");
    let pairs = comparable_metrics(uninterrupted.path()).concat();
    for ((name, uninterrupted), (_, other)) in
        pairs.iter().zip(comparable_metrics(resumed.path()).concat())
    {
        assert!(
            (uninterrupted - other).abs() <= 1e-9 * uninterrupted.abs().max(1.0),
            "{name}: {uninterrupted} {other}"
        );
    }
}

#[test]
fn what_changes_the_results_is_refused_by_field_with_the_way_to_a_copy() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &["training.steps=1", "optimizer.schedule=cosine"]));
    for (override_, phrase) in [
        ("rollout.group_size=4", "`rollout.group_size` is 3 there, 4 now"),
        ("training.steps=2", "`training.steps` is 1 there, 2 now"),
    ] {
        let output =
            train(folder.path(), &["training.steps=1", "optimizer.schedule=cosine", override_]);
        let text = refused(&output);
        assert!(text.contains(phrase) && text.contains("with --resume "), "{text}");
    }
}

#[test]
fn a_branch_may_have_other_settings() {
    let [first, branch] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_success(&train(first.path(), &["training.steps=2"]));
    let origin = first.path().join("run");
    let overrides = [
        "optimizer.learning_rate=1e-4",
        "algorithm.thermostat.knob=fraction",
        "algorithm.thermostat.target={start=5.0, end=2.0, steps=8}",
        "algorithm.thermostat.low=0.001",
        "algorithm.thermostat.high=0.9",
    ];
    assert_success(&resume(branch.path(), origin.to_str().unwrap(), &overrides));
    let step_numbers: Vec<u64> = steps(branch.path()).iter().map(StepMetrics::step).collect();
    assert_eq!(step_numbers, [1, 2, 3, 4]);
    let other = tempfile::tempdir().unwrap();
    let narrow =
        refused(&resume(other.path(), origin.to_str().unwrap(), &["optimizer.moments=bf16"]));
    assert!(narrow.contains("optimizer.safetensors: tensor `first_moment/"), "{narrow}");
    assert!(!other.path().join("run/config.toml").exists(), "nothing was begun");
}

#[test]
fn never_and_places_that_are_no_checkpoint_are_one_line() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &["training.steps=1"]));
    let never = refused(&resume(folder.path(), "never", &["training.steps=1"]));
    assert!(
        never
            .contains("holds a run with a checkpoint of step 1, expected none with --resume never"),
        "{never}"
    );
    let new = tempfile::tempdir().unwrap();
    let nowhere = refused(&resume(new.path(), "nowhere", &[]));
    assert!(
        nowhere.starts_with("error: --resume nowhere: is not there, expected a checkpoint"),
        "{nowhere}"
    );
    let model = crate::fixture::directory("tiny_qwen2_tied");
    let model = refused(&resume(new.path(), model.to_str().unwrap(), &[]));
    assert!(model.contains("is a model without the state of a run"), "{model}");
    assert!(!new.path().join("run").exists());
    assert_success(&resume(new.path(), "never", &["training.steps=1"]));
}

/// Rotations of other angles run as well as the right ones, and a state of another step leaves steps out.
#[test]
fn a_checkpoint_of_another_model_or_step_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &["training.steps=2"]));
    let checkpoint = folder.path().join("run/checkpoints/step-2");
    // Without sums nothing else notices an edit.
    std::fs::remove_file(checkpoint.join("trainer/manifest.json")).unwrap();
    let edited = |name: &str, edits: &[(&str, serde_json::Value)]| {
        let path = checkpoint.join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        let mut value: serde_json::Value = serde_json::from_str(&text).unwrap();
        for (field, edit) in edits {
            assert!(value[*field] != *edit, "{field}");
            value[*field] = edit.clone();
        }
        std::fs::write(&path, value.to_string()).unwrap();
        text
    };
    let refused = || {
        let output = resume(folder.path(), "auto", &[]);
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let state = "trainer/state.json";
    edited(state, &[("has_manifest", false.into())]);
    let config = edited("config.json", &[("rope_theta", 5e5.into())]);
    let text = refused();
    assert!(text.contains("step-2/config.json: describes another model than "), "{text}");
    std::fs::write(checkpoint.join("config.json"), config).unwrap();
    let right = edited(state, &[("step", 3.into())]);
    let text = refused();
    assert!(text.contains("step-2: the trainer's state is of step 3, expected 2 as in"), "{text}");
    std::fs::write(checkpoint.join(state), right).unwrap();
    assert_success(&resume(folder.path(), "auto", &[]));
}
