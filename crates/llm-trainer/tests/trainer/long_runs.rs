//! Overhead of a run beside its steps: time before the first, memory after many.

use std::path::Path;
use std::process::Command;

use decoder::model::Decoder;
use model_files::model_config::{ModelConfig, ModelShape};
use tch::{Device, Kind};

use crate::fixture::{directory, one_thread, small_shape};
use crate::training_run::{assert_success, column, steps, train_by, train_process};

/// Measures processor time, which does not depend on other work on the machine.
#[test]
fn a_run_takes_seconds_to_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut shell = Command::new("bash");
    shell.args(["-c", "TIMEFORMAT='spent %U %S'; time \"$0\" \"$@\""]);
    shell.arg(env!("CARGO_BIN_EXE_llm-trainer")).env("LC_ALL", "C").env("OMP_NUM_THREADS", "1");
    let output = train_by(shell, folder.path(), &["training.steps=1", "evaluation.every=0"]);
    assert_success(&output);
    let text = String::from_utf8_lossy(&output.stderr);
    let spent = text.lines().find_map(|line| line.strip_prefix("spent ")).expect("bash says");
    let seconds: f64 = spent.split(' ').map(|text| text.parse::<f64>().expect("a number")).sum();
    // Loading libtorch, model and data, one step and one checkpoint.
    assert!(seconds < 30.0, "{seconds} s");
}

/// Saves a model over the recorded tokens whose weights are large beside the rest of a run's memory; returns their bytes.
fn save_wider_model(target: &Path) -> u64 {
    one_thread();
    let source = directory("tiny_qwen2_tied");
    let recorded = Decoder::load(&source, Device::Cpu, Kind::Float).expect("a recorded model");
    let config = ModelConfig::new(ModelShape {
        hidden_size: 256,
        intermediate_size: 1024,
        num_hidden_layers: 4,
        head_dim: 64,
        vocab_size: recorded.config().vocab_size,
        initializer_range: 0.05,
        eos_token_ids: recorded.config().eos_token_ids.clone(),
        ..small_shape()
    });
    let model = Decoder::initialise(config.expect("a valid shape"), 3, Device::Cpu, Kind::Float);
    model.save(target, &source).expect("a temporary folder is writable");
    let elements: usize = model.named_parameters().iter().map(|(_, p)| p.numel()).sum();
    4 * elements as u64
}

/// Sampling, update, evaluation and checkpoints in turn: gradients, caches or weights kept of each step would add up to
/// many times the weights.
#[test]
fn memory_does_not_grow_from_step_to_step() {
    let folder = tempfile::tempdir().unwrap();
    let model = folder.path().join("model");
    let weights = save_wider_model(&model) as f64;
    let path = format!("model.path={:?}", model.display().to_string());
    // A process of its own: the peak is that of a process.
    assert_success(&train_process(folder.path(), &[&path, "training.steps=16"]));
    let peaks = column(&steps(folder.path()), "perf/max_memory_bytes");
    // After the first evaluation and checkpoint everything has been done once.
    let growth = peaks[15] - peaks[3];
    assert!(growth < weights, "{growth} bytes over 12 steps of a model of {weights}: {peaks:?}");
}
