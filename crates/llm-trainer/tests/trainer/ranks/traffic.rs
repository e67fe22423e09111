//! Traffic of a run: equal to its plan to the byte, except for messages, and independent of the number of micro-batches.

use std::path::Path;

use model_files::model_config::ModelConfig;
use run_plan::plan::{ModelSizes, Setup, Traffic};
use training_run::config::Run;

use super::train_on;
use crate::fixture::directory;
use crate::training_run::{steps, write_config};

/// Two steps of two optimiser steps each, of which every token counts.
const SETTINGS: [&str; 5] = [
    "training.steps=2",
    "evaluation.every=0",
    "checkpoint.every=0",
    "algorithm.drop_uninformative_groups=false",
    "model.dtype=f32",
];

/// Most bytes of messages and single numbers per step.
const MESSAGES: f64 = 4096.0;

/// With prompts and responses of these lengths.
fn planned(root: &Path, settings: &[&str], [prompt, response]: [usize; 2]) -> Traffic {
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let run = Run::load(&write_config(root), &settings).expect("a configuration");
    let config = ModelConfig::read(&run.config().model.path.join("config.json")).expect("a model");
    let setup = Setup {
        mean_prompt_tokens: prompt,
        mean_response_tokens: response,
        ..Setup::of_run(&run, ModelSizes::of("tiny", &config))
    };
    Traffic::new(&setup.with_ranks(1, 2).expect("two ranks"))
}

/// Bytes of a step that the plan assigns to operations of these kinds, or to all.
fn of(traffic: &Traffic, kinds: &[&str]) -> f64 {
    let kinds = |name: &str| kinds.iter().any(|kind| name.starts_with(kind));
    let matching = traffic.collectives.iter().filter(|collective| kinds(collective.name));
    matching.map(|collective| collective.bytes_sent as f64).sum()
}

/// A run of two ranks: parameters and gradients gathered, scattered and summed; the least and the most of two budgets.
fn sends_what_is_planned(further: &[&str]) {
    let mut counted = Vec::new();
    for budget in ["training.micro_batch_tokens=14", "training.micro_batch_tokens=1000"] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = [&SETTINGS[..], further, &[budget]].concat();
        train_on(2, folder.path(), &settings);
        let plan = planned(folder.path(), &settings, [2, 6]);
        let steps = steps(folder.path());
        let metric = |name: &str| steps[1].get(name).expect("a run of several ranks has it");
        let close = |name: &str, expected: f64| {
            let beyond = metric(name) - expected;
            assert!(
                (0.0..MESSAGES).contains(&beyond),
                "{further:?}, {name}: {beyond} beyond {expected}"
            );
        };
        close("parallel/all_reduce_bytes", of(&plan, &["sum of gradients"]));
        close("parallel/reduce_scatter_bytes", of(&plan, &["gradients to shards"]));
        close("parallel/all_gather_bytes", of(&plan, &["parameters"]));
        close("parallel/bytes_sent", plan.bytes_sent_per_step() as f64);
        counted.push((plan.micro_batches, metric("parallel/bytes_sent")));
    }
    let [(many, first), (one, second)] = counted[..] else { panic!("two budgets") };
    assert_eq!((many, one), (3, 1));
    assert!((first - second).abs() < MESSAGES, "{many} micro-batches: {first}, {one}: {second}");
}

#[test]
fn gradients_are_sent_once_an_optimiser_step() {
    for zero in ["parallel.zero=0", "parallel.zero=1", "parallel.zero=2"] {
        sends_what_is_planned(&[zero]);
    }
}

/// The head tied or not, with a pass more for another temperature, and without the probe.
#[test]
fn blocks_are_gathered_once_a_pass() {
    let untied = format!("model.path={:?}", directory("tiny_qwen2_untied").display().to_string());
    sends_what_is_planned(&["parallel.zero=3"]);
    sends_what_is_planned(&["parallel.zero=3", "rollout.temperature=0.8"]);
    sends_what_is_planned(&["parallel.zero=3", "metrics.probe_tokens=0", &untied]);
    sends_what_is_planned(&[
        "parallel.zero=3",
        "lora.rank=2",
        "algorithm.reference_kl.placement=loss",
    ]);
}

/// Prompts of four tokens, and responses whose mean length is between two whole ones.
#[test]
fn a_model_on_two_ranks_sends_its_residual_stream() {
    let cases: [&[&str]; 3] = [
        &["metrics.probe_tokens=0"],
        &["rollout.top_k=40", "rollout.temperature=0.8"],
        &["algorithm.reference_kl.placement=loss", "algorithm.epochs=2"],
    ];
    for further in cases {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let settings = [&SETTINGS[..], &["parallel.tensor=2"], further].concat();
        train_on(2, folder.path(), &settings);
        let steps = steps(folder.path());
        let metric = |name: &str| steps[1].get(name).expect("a run of several ranks has it");
        assert!((metric("prompt_length/mean") - 4.0).abs() < 1e-9);
        let length = metric("response_length/mean");
        let longer = (2..=6_usize).find(|&tokens| tokens as f64 >= length).expect("six at most");
        let of_length = |response: usize| {
            planned(folder.path(), &settings, [4, response]).bytes_sent_per_step() as f64
        };
        let (least, most) = (of_length(longer - 1), of_length(longer));
        let sent = metric("parallel/bytes_sent");
        // Beside the residual stream some numbers of each token, and messages.
        assert!(
            least < sent && sent < 1.03 * most + MESSAGES,
            "{further:?}: {least} {sent} {most}"
        );
        assert!(most < 1.25 * least, "{least} {most}");
    }
}
