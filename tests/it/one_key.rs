//! Every method of the registries runs in the simulator and in the trainer, each by one key.

use std::path::Path;

use rl_losses::{estimators, registry};
use softmax_sim::experiment::Experiment;
use softmax_sim::training::{Curve, train};
use training_run::config::{Run, fields};

/// A few rollouts of a small world, each of the policy before the last.
const BASE: &str = "\
environment.tabular = { prompts = 6, positions = 2, actions = 4 }
schedule.rollouts = 4
schedule.evaluate_every = 1
schedule.group_size = 8
schedule.mini_batches = 2
schedule.learning_rate = 0.5
schedule.staleness = 1
";

/// Columns of an estimator that a trainer does not have.
const NOT_IN_TRAINER: [&str; 2] = ["greedy_rewards", "values"];

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Runs the keys in the simulator.
fn simulated(keys: &[&str]) -> Curve {
    let text = format!("{BASE}{}\n", keys.join("\n"));
    let experiment: Experiment =
        toml::from_str(&text).unwrap_or_else(|error| panic!("{keys:?}: {error}"));
    experiment.check().unwrap_or_else(|error| panic!("{keys:?}: {error}"));
    let curve = train(&experiment.draw(3), &experiment.method, &experiment.schedule, 3);
    let finite = |value: f64| assert!(value.is_finite(), "{keys:?}: {curve:?}");
    curve
        .points
        .iter()
        .for_each(|point| [point.entropy, point.reward].into_iter().for_each(finite));
    curve
}

/// Resolves a run of the trainer with the keys.
fn resolved(keys: &[&str]) -> Result<(), String> {
    let keys: Vec<String> = keys.iter().map(|key| (*key).to_owned()).collect();
    let run = Run::load(&root().join("configs/demo.toml"), &keys);
    run.map(drop).map_err(|error| format!("{keys:?}: {error}"))
}

#[test]
fn every_loss_runs_by_its_name() {
    for loss in registry() {
        simulated(&[&format!("method.loss.{} = {{}}", loss.name)]);
        resolved(&[&format!("algorithm.policy_loss={}", loss.name)]).unwrap();
    }
}

#[test]
fn every_estimator_runs_by_its_name() {
    for entry in estimators() {
        let settings = serde_json::to_value(entry.default).unwrap();
        let name = entry.name;
        let key = if settings.is_string() {
            format!("method.advantage = \"{name}\"")
        } else {
            format!("method.advantage.{name} = {{}}")
        };
        simulated(&[&key]);
        let column = entry.default.required_column();
        let missing = column.is_some_and(|column| NOT_IN_TRAINER.contains(&column));
        let fed = resolved(&[&format!("algorithm.advantage={name}")]);
        assert_eq!(fed.is_err(), missing, "{name}: {fed:?}");
    }
}

/// The table of the book: each key of the simulator changes a run, and each key of the trainer is one.
#[test]
fn every_control_of_the_book_runs_by_its_key() {
    let page = std::fs::read_to_string(root().join("docs/choosing-a-method.md")).unwrap();
    let (_, table) = page.split_once("| control | simulator | trainer |").unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let mut trainer_keys = String::new();
    let mut count = 0;
    for row in rows {
        let cells: Vec<Vec<&str>> = row.split(" | ").map(code).collect();
        let [_, simulator, trainer] = &cells[..] else { panic!("three cells: {row}") };
        let (key, before) = simulator.split_last().unwrap();
        assert_ne!(simulated(simulator), simulated(before), "{key}");
        resolved(trainer).unwrap();
        trainer_keys += row;
        count += 1;
    }
    assert!(count > 8, "{count} rows");
    let fields = fields().iter().filter_map(|field| field.path.strip_prefix("algorithm."));
    for key in fields.map(|path| path.split('.').next().unwrap()) {
        let has_row = trainer_keys.contains(&format!("algorithm.{key}"));
        assert!(has_row || NO_CONTROLS.contains(&key), "no row for algorithm.{key}");
    }
}

/// Keys of `[algorithm]` that are no controls: losses, estimators and the size of a mini-batch.
const NO_CONTROLS: [&str; 3] = ["policy_loss", "advantage", "mini_batch_prompts"];

/// The code of a cell, one string a span.
fn code(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}
