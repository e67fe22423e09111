//! A run of several ranks is the run of one.

use std::path::Path;

use decoder::model::Decoder;
use tch::{Device, Kind};
use training_run::metrics::{StepMetrics, read_metrics};

use super::{commands, finish, start, succeed, train_on};
use crate::control::BY_DIFFICULTY;
use crate::training_run::{assert_success, comparable_metrics, train};

/// Numbers that differ from those of one process by the order of additions alone.
const ROUNDING: f64 = 1e-12;

/// f64 throughout, so that rounding cannot hide behind itself.
pub(crate) const WIDE: &str = "model.dtype=f64";

/// Compares samples, verdicts and rewards exactly. Advantages may depend on log-probabilities, so they may differ by rounding.
fn assert_same_samples(one: &Path, many: &Path, steps: u64, rounding: f64) {
    for step in 1..=steps {
        let file = format!("run/samples/step-{step}.jsonl");
        let read = |root: &Path| -> Vec<(Option<f64>, serde_json::Value)> {
            let text = std::fs::read_to_string(root.join(&file)).expect("a run leaves samples");
            let parse = |line: &str| {
                let mut sample: serde_json::Value = serde_json::from_str(line).expect("JSON lines");
                let advantage = sample["advantage"].take();
                (advantage.as_f64(), sample)
            };
            text.lines().map(parse).collect()
        };
        let (one, many) = (read(one), read(many));
        assert_eq!(one.len(), many.len(), "{file}");
        for ((one_advantage, one), (many_advantage, many)) in one.iter().zip(&many) {
            assert_eq!(one, many, "{file}");
            let distance = one_advantage.unwrap_or(0.0) - many_advantage.unwrap_or(0.0);
            assert!(distance.abs() < rounding, "{file}: {one_advantage:?}, {many_advantage:?}");
        }
    }
}

/// Largest relative distance of a parameter: of the difference's norm to the parameter's own.
fn distance_of_parameters(one: &Path, many: &Path) -> f64 {
    let load = |root: &Path| {
        let checkpoint = root.join("run/checkpoints/step-4");
        Decoder::load(&checkpoint, Device::Cpu, Kind::Double).expect("a checkpoint is a model")
    };
    let (one, many) = (load(one), load(many));
    let pairs = one.trained_parameters().into_iter().zip(many.trained_parameters());
    let distance = |((name, one), (_, many)): ((String, &tch::Tensor), (String, &tch::Tensor))| {
        let norm = |tensor: &tch::Tensor| tensor.norm().double_value(&[]);
        let distance = norm(&(one - many)) / norm(one);
        (distance, name)
    };
    let largest = pairs.map(distance).max_by(|a, b| a.0.total_cmp(&b.0)).expect("parameters");
    eprintln!("largest distance {} in {}", largest.0, largest.1);
    largest.0
}

fn assert_close_metrics(one: &Path, many: &Path) {
    let read = |root: &Path| -> Vec<StepMetrics> {
        read_metrics(&root.join("run/metrics.jsonl")).expect("a run leaves metrics")
    };
    let names = |root: &Path| -> Vec<Vec<String>> {
        let of_step = |step: Vec<(String, f64)>| step.into_iter().map(|(name, _)| name).collect();
        comparable_metrics(root).into_iter().map(of_step).collect()
    };
    assert_eq!(names(one), names(many));
    for (one, many) in read(one).iter().zip(read(many)) {
        for (name, one) in one.iter().filter(|(name, _)| !name.starts_with("timing_s/")) {
            let Some(many) = many.get(name).filter(|_| !name.starts_with("perf/")) else {
                continue;
            };
            // The probe compares distributions in f32.
            let is_probe = name.starts_with("entropy/measured") || name.ends_with("lemma1");
            let bound = if is_probe { 1e-6 } else { 1e-10 };
            assert!((one - many).abs() <= bound * one.abs().max(1.0), "{name}: {one}, {many}");
        }
    }
}

/// The tokens of every step, the parameters, the metrics of two runs of four steps.
pub(crate) fn assert_is_the_run_of_one(one: &Path, many: &Path) {
    assert_same_samples(one, many, 4, 1e-10);
    assert_close_metrics(one, many);
    let distance = distance_of_parameters(one, many);
    assert!(distance < ROUNDING, "{distance}");
}

/// Any number of ranks, any budget of micro-batches: the tokens of every step, the parameters, the metrics.
pub(crate) fn is_the_run_of_one(settings: &[&str], cases: &[(usize, &[&str])]) {
    let one = tempfile::tempdir().expect("a temporary folder");
    assert_success(&train(one.path(), &[settings, &[WIDE]].concat()));
    for &(count, further) in cases {
        let many = tempfile::tempdir().expect("a temporary folder");
        train_on(count, many.path(), &[settings, &[WIDE], further].concat());
        eprintln!("{count} ranks, {further:?}");
        assert_is_the_run_of_one(one.path(), many.path());
    }
}

/// Whatever samples in f32 draws the tokens of a single rank for many.
pub(crate) fn draws_the_tokens_of_one(settings: &[&str], cases: &[(usize, &[&str])]) {
    let one = tempfile::tempdir().expect("a temporary folder");
    assert_success(&train(one.path(), settings));
    for &(count, further) in cases {
        let many = tempfile::tempdir().expect("a temporary folder");
        train_on(count, many.path(), &[settings, further].concat());
        eprintln!("{count} ranks, {further:?}");
        assert_same_samples(one.path(), many.path(), 4, 1e-4);
    }
}

#[test]
fn two_and_four_ranks_train_as_one() {
    is_the_run_of_one(&[], &[(2, &["training.micro_batch_tokens=20"]), (4, &[])]);
}

/// Each bucket's share is taken over all ranks.
#[test]
fn the_entropy_of_each_difficulty_is_held_as_in_one() {
    is_the_run_of_one(&BY_DIFFICULTY, &[(2, &["training.micro_batch_tokens=30"])]);
}

/// Optimiser state is sharded over the ranks, or gradients and blocks too; 3 does not divide the parameters of a block.
#[test]
fn what_is_cut_over_ranks_takes_the_steps_of_the_whole() {
    let narrow = "training.micro_batch_tokens=20";
    let cases: [(usize, &[&str]); 5] = [
        (3, &["parallel.zero=1", narrow]),
        (2, &["parallel.zero=2"]),
        (4, &["parallel.zero=2", narrow, "training.activation_bytes=0"]),
        (2, &["parallel.zero=3"]),
        (3, &["parallel.zero=3", narrow]),
    ];
    is_the_run_of_one(&["optimizer.weight_decay=0.1"], &cases);
}

/// Tokens drawn from a band, groups asked for again and carried over, several epochs, a reference, a sampler that leaves
/// tokens out, more ranks than the mini-batch has groups.
#[test]
fn everything_that_looks_at_all_tokens_looks_at_those_of_all_ranks() {
    let settings = [
        "algorithm.policy_loss={ clip-cov = { fraction = 0.1, covariance_low = 0.0, covariance_high = 5.0 } }",
        "algorithm.mini_batch_prompts=2",
        "algorithm.epochs=2",
        "algorithm.reference_kl.placement=loss",
        "algorithm.reference_kl.coefficient.adaptive.initial=0.01",
        "dynamic_sampling.enabled=true",
        "dynamic_sampling.oversampling=1.5",
        "rollout.temperature=0.8",
        "rollout.top_k=40",
        "algorithm.aggregation=seq-mean-token-mean",
    ];
    is_the_run_of_one(&settings, &[(3, &[])]);
}

/// Adapters, with and without sharded state; responses saved by one run and replayed by the other.
#[test]
fn adapters_train_over_ranks_and_saved_responses_are_replayed_there() {
    // With the usual 1e-8 AdamW makes a step of the rounding of a gradient that is nearly zero, as an adapter's are at first: on
    // one processor 5e-12 of a parameter, on another less than 1e-12.
    let settings = ["lora.rank=4", "optimizer.epsilon=1e-4"];
    let beneath = "algorithm.reference_kl.placement=loss";
    is_the_run_of_one(&settings, &[(2, &[])]);
    is_the_run_of_one(&[&settings[..], &[beneath]].concat(), &[(3, &["parallel.zero=3"])]);
    let [saved, replayed] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let rollouts = saved.path().join("rollouts");
    let with = |count: usize, root: &Path, flag: &str| {
        let mut ranks = commands(count, root, &[WIDE]);
        for command in &mut ranks {
            command.arg(flag).arg(&rollouts);
        }
        succeed(start(ranks));
    };
    with(2, saved.path(), "--save-rollouts");
    with(3, replayed.path(), "--replay-rollouts");
    assert_same_samples(saved.path(), replayed.path(), 4, 1e-10);
    assert!(distance_of_parameters(saved.path(), replayed.path()) < ROUNDING);
}

/// Its batch is partitioned over the ranks and its gradients are summed like the policy's.
#[test]
fn an_implicit_reward_model_learns_the_same_from_all_ranks() {
    let cases: [(usize, &[&str]); 3] =
        [(3, &[]), (2, &["parallel.zero=3"]), (2, &["parallel.tensor=2"])];
    is_the_run_of_one(&["algorithm.advantage=prime", "rollout.rows=12"], &cases);
}

#[test]
fn a_run_goes_on_with_another_number_of_ranks_and_stage() {
    // With shards, 3 ranks read those of 2, 1 rank merges those of 3, and 2 ranks reshard the file of 1.
    let stages: [&[(usize, &[&str])]; 2] = [
        &[(2, &[]), (1, &[])],
        &[
            (2, &["parallel.zero=2"]),
            (3, &["parallel.zero=3"]),
            (1, &["parallel.zero=3"]),
            (2, &["parallel.zero=1"]),
        ],
    ];
    goes_on_as_one(&[], &stages);
}

/// Holds for every sharding of state, gradients and parameters, and if a run resumes with another number of ranks.
#[test]
fn a_split_master_weight_is_cut_as_a_whole_one() {
    let run = |settings: &[&str], stages: &[(usize, &str)]| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (&(ranks, zero), from) in stages.iter().zip(0..) {
            if from > 0 {
                take_back(folder.path(), from);
            }
            train_on(ranks, folder.path(), &[settings, &[zero]].concat());
        }
        folder
    };
    let narrow = ["model.dtype=bf16", "checkpoint.every=1", "checkpoint.keep=0"];
    let random = "optimizer.moments=bf16";
    for (further, stages) in [
        (
            &[random][..],
            &[(3, "parallel.zero=1"), (2, "parallel.zero=3"), (1, "parallel.zero=0")][..],
        ),
        (&["lora.rank=2"], &[(2, "parallel.zero=2"), (2, "parallel.zero=0")]),
    ] {
        let with = |master: &str, stages: &[_]| {
            let master = format!("optimizer.master={master}");
            run(&[&narrow[..], further, &[&master]].concat(), stages)
        };
        let (full, split) = (with("f32", stages), with("split", stages));
        let none = with("none", &stages[..1]);
        let trained = |root: &tempfile::TempDir| {
            let last = root.path().join("run/checkpoints/step-4");
            let name = if further == [random] { "model" } else { "adapter_model" };
            std::fs::read(last.join(format!("{name}.safetensors"))).expect("what was trained")
        };
        assert_eq!(comparable_metrics(full.path()), comparable_metrics(split.path()));
        assert!(trained(&full) == trained(&split), "{stages:?}");
        assert!(trained(&none) != trained(&full), "rounded at random");
    }
}

/// A run to its end by the first of each list, taken back to step 1 and gone on with by the second, to step 2 by the third, and
/// so on, is every time the run of one process.
pub(super) fn goes_on_as_one(settings: &[&str], stages: &[&[(usize, &[&str])]]) {
    let settings = [settings, &[WIDE, "checkpoint.every=1", "checkpoint.keep=0"]].concat();
    let uninterrupted = tempfile::tempdir().expect("a temporary folder");
    assert_success(&train(uninterrupted.path(), &settings));
    for stages in stages {
        let parts = tempfile::tempdir().expect("a temporary folder");
        let on = |(ranks, further): (usize, &[&str])| {
            train_on(ranks, parts.path(), &[&settings, further].concat())
        };
        on(stages[0]);
        for (&stage, from) in stages[1..].iter().zip(1..) {
            take_back(parts.path(), from);
            let outputs = on(stage);
            let text = String::from_utf8_lossy(&outputs[0].stdout);
            assert!(text.contains(&format!("going on after step {from} of 4")), "{text}");
            assert_same_samples(uninterrupted.path(), parts.path(), 4, 1e-10);
            assert_close_metrics(uninterrupted.path(), parts.path());
            assert!(distance_of_parameters(uninterrupted.path(), parts.path()) < ROUNDING);
        }
    }
}

/// Leaves a run of four steps, each with a checkpoint, as one that was killed after step `step`.
fn take_back(root: &Path, step: u64) {
    let checkpoints = root.join("run/checkpoints");
    for later in step + 1..=4 {
        let later = checkpoints.join(format!("step-{later}"));
        std::fs::remove_dir_all(later).expect("every step leaves a checkpoint");
    }
    let latest = format!("step-{step}\n");
    std::fs::write(checkpoints.join("latest"), latest).expect("a folder to write to");
}

/// Each rank writes a shard; a flipped bit in any is seen by all, who go on after the same checkpoint.
#[test]
fn ranks_pass_over_a_damaged_checkpoint_together() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["parallel.zero=1"];
    train_on(2, folder.path(), &settings);
    let end = crate::training_run::weights(folder.path());
    let shards = folder.path().join("run/checkpoints/step-4/trainer");
    for shard in ["optimizer-00001-of-00002.safetensors", "optimizer-00002-of-00002.safetensors"] {
        let path = shards.join(shard);
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() ^= 4;
        std::fs::write(&path, bytes).unwrap();
        let outputs = train_on(2, folder.path(), &settings);
        let text = String::from_utf8_lossy(&outputs[0].stderr);
        assert!(text.contains(&format!("of step 4 is damaged: trainer/{shard} has a")), "{text}");
        let text = String::from_utf8_lossy(&outputs[0].stdout);
        assert!(text.contains("going on after step 2 of 4"), "{text}");
        assert!(crate::training_run::weights(folder.path()) == end, "{shard}: the weights differ");
    }
}

/// One rank writes the files and has the word; each other has a log.
#[test]
fn the_first_rank_writes_for_all() {
    let folder = tempfile::tempdir().unwrap();
    let outputs = train_on(2, folder.path(), &["evaluation.every=0"]);
    assert!(String::from_utf8_lossy(&outputs[0].stdout).contains("4 steps done"));
    assert!(outputs[1].stdout.is_empty() && outputs[1].stderr.is_empty(), "{outputs:?}");
    let message = String::from_utf8_lossy(&outputs[0].stderr);
    let first = "llm-trainer: device cpu; dtype f32; 1 thread; 2 ranks\n";
    assert!(message.starts_with(first), "{message}");
    let metrics = std::fs::read_to_string(folder.path().join("run/metrics.jsonl")).unwrap();
    assert_eq!(metrics.lines().count(), 4);
    let log = std::fs::read_to_string(folder.path().join("run/logs/rank-1.log")).unwrap();
    assert!(log.contains("tiny 3/4 updating the policy"), "{log}");
    assert!(!folder.path().join("run/logs/rank-0.log").exists());
}

/// A signal to any rank is one to all, and they save where they stand.
#[test]
fn a_signal_to_one_rank_ends_all_with_a_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["training.steps=100000", "checkpoint.every=0", "evaluation.every=0"];
    let children = start(commands(2, folder.path(), &settings));
    crate::interruption::wait_for_steps(folder.path(), 2);
    crate::interruption::signal(&children[1], "-TERM");
    let outputs = finish(children);
    for output in &outputs {
        assert_eq!(output.status.code(), Some(143), "{output:?}");
    }
    let text = String::from_utf8_lossy(&outputs[0].stdout);
    assert!(text.contains("ended by a signal after step"), "{text}");
    assert!(crate::interruption::latest(folder.path()) > 1);
}
