//! State and activations in the host's memory: the same numbers, to the bit where the device is the CPU.

use std::path::Path;

use decoder::model::Decoder;
use llm_trainer::host_memory::Memory;
use llm_trainer::training::adamw::AdamW;
use model_files::model_config::{ModelConfig, ModelShape};
use ranks::Ranks;
use tch::{Device, Kind, Tensor};
use training_run::config::{Dtype, OptimizerSection};

use crate::fixture::{decoder, one_thread};
use crate::ranks::{commands, start, succeed};
use crate::training_run::comparable_metrics;

const OFFLOADED: [&str; 2] =
    ["parallel.offload_optimizer=true", "parallel.offload_block_inputs=true"];

/// Every block is computed again, so that every input waits.
const RECOMPUTED: &str = "training.activation_bytes=0";

fn train_on(count: usize, root: &Path, overrides: &[&str]) {
    succeed(start(commands(count, root, overrides)));
}

fn weights(root: &Path, file: &str) -> Vec<u8> {
    let path = root.join("run/checkpoints/step-4").join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Cases: one rank or sharded, in f32 and bf16, with rounded moments, with a reward model and with an adapter.
#[test]
fn a_run_with_its_state_on_the_host_is_the_same_to_the_bit() {
    let cases: [(usize, &[&str]); 5] = [
        (1, &["algorithm.advantage=prime"]),
        (1, &["model.dtype=bf16", "optimizer.moments=bf16"]),
        (2, &["parallel.zero=1"]),
        (2, &["parallel.zero=3", "model.dtype=bf16"]),
        (2, &["parallel.tensor=2", "lora.rank=2"]),
    ];
    for (count, settings) in cases {
        let settings = [settings, &[RECOMPUTED, "evaluation.every=0"]].concat();
        let [plain, offloaded] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        train_on(count, plain.path(), &settings);
        train_on(count, offloaded.path(), &[&settings[..], &OFFLOADED].concat());
        let is_adapter = settings.contains(&"lora.rank=2");
        let file = if is_adapter { "adapter_model.safetensors" } else { "model.safetensors" };
        let same = weights(plain.path(), file) == weights(offloaded.path(), file);
        assert!(same, "{count} ranks, {settings:?}: other weights");
        let metrics = [&plain, &offloaded].map(|root| comparable_metrics(root.path()));
        assert_eq!(metrics[0], metrics[1], "{count} ranks, {settings:?}");
    }
}

/// A checkpoint written with the state in one memory is read into the other.
#[test]
fn a_run_goes_on_with_its_state_elsewhere() {
    let [uninterrupted, resumed] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let settings = ["model.dtype=bf16", RECOMPUTED, "checkpoint.every=2"];
    train_on(1, uninterrupted.path(), &settings);
    let offloaded = [&settings[..], &OFFLOADED].concat();
    train_on(1, resumed.path(), &offloaded);
    std::fs::remove_dir_all(resumed.path().join("run/checkpoints/step-4")).unwrap();
    std::fs::write(resumed.path().join("run/checkpoints/latest"), "step-2\n").unwrap();
    train_on(1, resumed.path(), &settings);
    let file = "trainer/optimizer.safetensors";
    assert!(weights(uninterrupted.path(), file) == weights(resumed.path(), file));
}

/// A matrix of several pieces, whose last is shorter.
#[test]
fn a_step_in_pieces_on_the_host_is_that_of_the_whole() {
    one_thread();
    let recorded = decoder("tiny_qwen2_untied");
    let shape = ModelShape {
        hidden_size: 384,
        intermediate_size: 1001,
        num_hidden_layers: 1,
        num_attention_heads: 6,
        num_key_value_heads: 2,
        head_dim: 64,
        ..(**recorded.config()).clone()
    };
    let config = ModelConfig::new(shape).unwrap();
    for (kind, moments) in
        [(Kind::Float, Dtype::F32), (Kind::Double, Dtype::F32), (Kind::BFloat16, Dtype::Bf16)]
    {
        let options =
            OptimizerSection { moments, weight_decay: 0.1, ..OptimizerSection::default() };
        let stepped = |memory: Memory| {
            let model = Decoder::initialise(config.clone(), 7, Device::Cpu, kind);
            model.set_trainable(true);
            let mut optimizer = AdamW::new_in(memory, &model, &options, 3);
            for step in 1..=3 {
                for (_, parameter) in model.named_parameters() {
                    let count = i64::try_from(parameter.numel()).expect("a matrix");
                    let wave = Tensor::arange(count, (Kind::Double, Device::Cpu)) * f64::from(step);
                    let gradient = wave.sin().to_kind(kind).view_as(parameter);
                    torch_ext::set_gradient(parameter, Some(&gradient)).expect("a gradient");
                }
                optimizer.step(&Ranks::single(), 1e-2).expect("libtorch steps");
            }
            model
        };
        let (device, host) = (stepped(Memory::Device), stepped(Memory::Host));
        for ((name, device), (_, host)) in
            device.named_parameters().into_iter().zip(host.named_parameters())
        {
            assert!(device.equal(host), "{name} in {kind:?}");
        }
    }
}
