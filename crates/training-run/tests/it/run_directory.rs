//! The folder of a run and its checkpoints.

use std::fs;

use serde_json::json;
use training_run::config::CheckpointSection;
use training_run::metric;
use training_run::metrics::{MetricsWriter, StepMetrics};
use training_run::run_directory::{Checkpoint, RunDirectory};
use workspace_tests::files::{folder, message, names};

fn save(directory: &RunDirectory, step: u64, keep: usize) {
    let progress = directory.begin_checkpoint(step).expect("the folder can be made");
    fs::write(progress.path().join("weights"), step.to_string()).expect("it can be written");
    let last = CheckpointSection { keep, ..CheckpointSection::default() };
    directory.finish_checkpoint(step, progress, &last).expect("it can be finished");
}

#[test]
fn a_run_directory_has_its_layout() {
    let folder = folder(&[]);
    let root = folder.path().join("runs/x");
    let directory = RunDirectory::create(&root).unwrap();
    directory
        .write_description("name = \"x\"\n", &json!({"name": "x"}), &json!({"cpu": 2}))
        .unwrap();
    save(&directory, 5, 0);
    fs::write(directory.step_samples(5), "").unwrap();
    assert_eq!(
        names(&root),
        ["checkpoints", "config.toml", "environment.json", "resolved.json", "samples"]
    );
    assert_eq!(names(&root.join("checkpoints")), ["latest", "step-5"]);
    assert_eq!(names(&root.join("samples")), ["step-5.jsonl"]);
    assert_eq!(fs::read_to_string(root.join("config.toml")).unwrap(), "name = \"x\"\n");
}

#[test]
fn latest_names_the_last_whole_checkpoint_and_old_ones_go() {
    let folder = folder(&[]);
    let directory = RunDirectory::create(folder.path()).unwrap();
    assert_eq!(directory.latest_checkpoint().unwrap(), None);
    for step in [9, 10, 11] {
        save(&directory, step, 2);
    }
    let unfinished = directory.begin_checkpoint(12).unwrap();
    fs::write(unfinished.path().join("weights"), "half").unwrap();
    std::mem::forget(unfinished);
    let latest = Checkpoint { step: 11, path: directory.checkpoint(11) };
    assert_eq!(directory.latest_checkpoint().unwrap(), Some(latest));
    let steps: Vec<u64> =
        directory.list_checkpoints().unwrap().iter().map(|checkpoint| checkpoint.step).collect();
    assert_eq!(steps, [10, 11]);
}

#[test]
fn a_pointer_to_nothing_is_an_error() {
    let folder = folder(&[]);
    let directory = RunDirectory::create(folder.path()).unwrap();
    fs::write(folder.path().join("checkpoints/latest"), "step-4\n").unwrap();
    assert_eq!(
        message(directory.latest_checkpoint(), folder.path()),
        "DIR/checkpoints/latest: is \"step-4\", expected the name of a folder beside it, step-N"
    );
}

#[test]
fn a_run_is_not_started_over_another_nor_resumed_from_nothing() {
    let folder = folder(&[]);
    let root = folder.path().join("x");
    let text = message(RunDirectory::open(&root), folder.path());
    assert_eq!(text, "DIR/x: holds no run, expected a folder with config.toml and checkpoints");
    RunDirectory::create(&root).unwrap();
    // A run that was killed before it had anything to lose starts again.
    let directory = RunDirectory::create(&root).unwrap();
    RunDirectory::open(&root).unwrap();
    save(&directory, 1, 0);
    let text = message(RunDirectory::create(&root), folder.path());
    assert!(
        text.starts_with("DIR/x: already holds a run, expected an empty or new folder"),
        "{text}"
    );
}

#[test]
fn the_best_and_every_so_manieth_checkpoint_stay_beside_the_last() {
    let folder = folder(&[]);
    let directory = RunDirectory::create(&folder.path().join("x")).unwrap();
    let rules =
        CheckpointSection { keep: 1, keep_every: 4, keep_best: 1, ..CheckpointSection::default() };
    let rewards = [0.1, 0.9, 0.2, 0.3, 0.4, 0.5];
    let history: Vec<StepMetrics> = (1..)
        .zip(rewards)
        .map(|(step, reward)| {
            let mut metrics = StepMetrics::new(step);
            metrics.insert(metric!("critic/rewards/mean"), reward);
            metrics
        })
        .collect();
    MetricsWriter::begin(&directory.metrics(), &history).unwrap();
    for step in 1..=6 {
        let progress = directory.begin_checkpoint(step).unwrap();
        directory.finish_checkpoint(step, progress, &rules).unwrap();
    }
    let steps: Vec<u64> =
        directory.list_checkpoints().unwrap().iter().map(|checkpoint| checkpoint.step).collect();
    assert_eq!(steps, [2, 4, 6]);
    assert_eq!(directory.latest_checkpoint().unwrap().unwrap().step, 6);
}
