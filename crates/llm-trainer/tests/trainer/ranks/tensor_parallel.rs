//! One model over several ranks trains and draws as in one process.

use std::collections::BTreeMap;
use std::path::Path;

use decoder::model::Decoder;
use model_files::model_config::{Architecture, AttentionOptions, ModelConfig, ModelShape};
use tch::{Device, Kind, Tensor};

use super::same_run::{WIDE, goes_on_as_one, is_the_run_of_one};
use super::{commands, finish, start, train_on};
use crate::fixture::directory;
use crate::training_run::{assert_success, train};

/// Ranks that hold a model together wait for each other a few times a block and token: little is drawn here.
const SHORT: [&str; 4] = [
    "rollout.rows=12",
    "rollout.max_response_tokens=4",
    "algorithm.mini_batch_prompts=4",
    "evaluation.every=0",
];

/// The head is tied to the embedding: one table, split by vocabulary tokens.
#[test]
fn two_ranks_hold_a_model_together() {
    let cases: [(usize, &[&str]); 1] =
        [(2, &["parallel.tensor=2", "training.micro_batch_tokens=20"])];
    is_the_run_of_one(&[&SHORT[..], &["optimizer.weight_decay=0.1"]].concat(), &cases);
}

/// An untied head, sampling masks, an entropy term, advantages of squared scores, a reference, and blocks that are split and sharded.
#[test]
fn parts_of_a_vocabulary_know_what_was_kept_of_the_whole() {
    let untied = format!("model.path={:?}", directory("tiny_qwen2_untied").display().to_string());
    let settings = [
        untied.as_str(),
        "rollout.temperature=0.8",
        "rollout.top_k=40",
        "algorithm.entropy_coefficient=0.01",
        "algorithm.advantage=optimal-token-baseline",
        "algorithm.reference_kl.placement=loss",
        "rollout.rows=12",
        "rollout.max_response_tokens=4",
        "evaluation.questions=2",
        "evaluation.temperature=0.0",
    ];
    is_the_run_of_one(&settings, &[(4, &["parallel.tensor=2", "parallel.zero=3"])]);
}

/// Checkpoints of shards are merged, and split in other ways.
#[test]
fn a_run_goes_on_with_other_parts() {
    let stages: &[(usize, &[&str])] = &[
        (4, &["parallel.tensor=2", "parallel.zero=2"]),
        (1, &[]),
        (2, &["parallel.tensor=2"]),
        (2, &["parallel.zero=1"]),
    ];
    goes_on_as_one(&SHORT, &[stages]);
}

/// Four ranks with two key-value heads: two ranks hold copies of each head, and each has a partial gradient of it.
#[test]
fn ranks_may_be_more_than_heads_of_keys_and_values() {
    is_the_run_of_one(&SHORT, &[(4, &["parallel.tensor=4"])]);
}

/// One key-value head on both tensor-parallel ranks, sharded again over two; a bias that is added to a sum over the ranks.
#[test]
fn a_bias_of_the_output_is_added_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = biased_llama(folder.path());
    let settings = [&SHORT[..], &[&path]].concat();
    let cases: [(usize, &[&str]); 2] = [
        (2, &["parallel.tensor=2"]),
        (4, &["parallel.tensor=2", "parallel.zero=3", "training.micro_batch_tokens=20"]),
    ];
    is_the_run_of_one(&settings, &cases);
}

/// One factor of a low-rank correction is split, the other replicated. The base model may be the reference, and is split as the policy is.
#[test]
fn an_adapter_is_cut_with_its_model() {
    let folder = tempfile::tempdir().unwrap();
    let path = biased_llama(folder.path());
    let settings =
        [&SHORT[..], &[&path, "lora.rank=3", "algorithm.reference_kl.placement=loss"]].concat();
    is_the_run_of_one(&settings, &[(4, &["parallel.tensor=2", "parallel.zero=3"])]);
    // The checkpoint contains the full adapter, which is split again on reading.
    let stages: &[(usize, &[&str])] =
        &[(2, &["parallel.tensor=2"]), (1, &[]), (2, &["parallel.tensor=2"])];
    goes_on_as_one(&[&SHORT[..], &["lora.rank=3"]].concat(), &[stages]);
}

/// Four ranks with two key-value heads each see a share of the gradient of a head's norm. A window is every rank's.
#[test]
fn norms_of_heads_and_windows_are_those_of_the_whole() {
    let recorded = |name| format!("model.path={:?}", directory(name).display().to_string());
    let (qwen3, mistral) = (recorded("tiny_qwen3"), recorded("tiny_mistral"));
    let cut: (usize, &[&str]) = (4, &["parallel.tensor=2", "parallel.zero=3"]);
    let cases = [(4, &["parallel.tensor=4"][..]), cut];
    is_the_run_of_one(&[&SHORT[..], &[&qwen3]].concat(), &cases);
    is_the_run_of_one(&[&SHORT[..], &[&qwen3, "lora.rank=3"]].concat(), &[cut]);
    is_the_run_of_one(&[&SHORT[..], &[&mistral]].concat(), &[cut, (2, &["parallel.zero=3"])]);
}

/// Norms behind attention and MLP read sums over the ranks.
#[test]
fn norms_of_results_are_those_of_the_whole() {
    let path = format!("model.path={:?}", directory("tiny_gemma3").display().to_string());
    let cut: (usize, &[&str]) = (4, &["parallel.tensor=2", "parallel.zero=3"]);
    let cases = [(2, &["parallel.tensor=2"][..]), cut];
    is_the_run_of_one(&[&SHORT[..], &[&path]].concat(), &cases);
    is_the_run_of_one(&[&SHORT[..], &[&path, "lora.rank=3"]].concat(), &[cut]);
}

/// Every expert is split by its width; a router sees a share of the gradient. Experts without tokens on a rank have a gradient too.
#[test]
fn experts_are_cut_as_an_mlp_is() {
    let path = format!("model.path={:?}", directory("tiny_qwen3_moe").display().to_string());
    let settings = [&SHORT[..], &[&path]].concat();
    let cases: [(usize, &[&str]); 2] = [
        (4, &["parallel.tensor=2", "parallel.zero=3", "training.micro_batch_tokens=20"]),
        (2, &["parallel.zero=2"]),
    ];
    is_the_run_of_one(&settings, &cases);
    let adapted =
        [&settings[..], &["lora={rank=3,targets=[\"q_proj\",\"v_proj\",\"o_proj\"]}"]].concat();
    is_the_run_of_one(&adapted, &cases[..1]);
    let refused = train(tempfile::tempdir().unwrap().path(), &[&path, "lora.rank=3"]);
    let message = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(message.contains("o_proj: experts take no adapter"), "{message}");
}

/// The adapter that two ranks have trained is one process's, and so is the model that both are merged to.
#[test]
fn an_adapter_of_two_ranks_merges_as_that_of_one() {
    let settings = [&SHORT[..], &[WIDE, "lora.rank=3"]].concat();
    let [one, many] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_success(&train(one.path(), &settings));
    train_on(2, many.path(), &[&settings[..], &["parallel.tensor=2"]].concat());
    let adapter =
        |root: &Path| tensors(&root.join("run/checkpoints/step-4/adapter_model.safetensors"));
    let (single, other) = (adapter(one.path()), adapter(many.path()));
    assert_eq!(single.len(), 2 * 2 * 7);
    assert!(distance_of(&single, &other) < 1e-12);
    // It has learned something: nothing is merged where `B` is zero.
    let learned = single.iter().filter(|(name, _)| name.contains("lora_B"));
    assert!(learned.clone().count() == 14 && learned.into_iter().all(|(_, b)| norm(b) > 1e-4));
    let merged = |root: &Path| -> BTreeMap<String, Tensor> {
        let base = directory("tiny_qwen2_tied");
        let mut model = Decoder::load(&base, Device::Cpu, Kind::Double).unwrap();
        model.load_adapter(&root.join("run/checkpoints/step-4")).unwrap();
        model.merge_adapter();
        let parameters = model.named_parameters().into_iter();
        parameters.map(|(name, parameter)| (name, parameter.copy())).collect()
    };
    let (full, cut) = (merged(one.path()), merged(many.path()));
    assert!(distance_of(&full, &cut) < 1e-12);
    let base = tensors(&directory("tiny_qwen2_tied").join("model.safetensors"));
    let moved =
        |(name, tensor): &(&String, &Tensor)| norm(&(*tensor - &base[*name])) > 1e-5 * norm(tensor);
    assert_eq!(full.iter().filter(moved).count(), 2 * 7, "seven matrices a block");
}

fn tensors(path: &Path) -> BTreeMap<String, Tensor> {
    let read = Tensor::read_safetensors(path).expect("a file of tensors");
    read.into_iter().map(|(name, tensor)| (name, tensor.to_kind(Kind::Double))).collect()
}

fn norm(tensor: &Tensor) -> f64 {
    tensor.norm().double_value(&[])
}

/// Largest relative distance of tensors of the same names.
fn distance_of(one: &BTreeMap<String, Tensor>, other: &BTreeMap<String, Tensor>) -> f64 {
    assert_eq!(one.keys().collect::<Vec<_>>(), other.keys().collect::<Vec<_>>());
    let distance = |(name, one): (&String, &Tensor)| norm(&(one - &other[name])) / norm(one);
    one.iter().map(distance).fold(0.0, f64::max)
}

/// The setting of a model with four heads of queries, one of keys and values, and biases wherever Llama has some.
fn biased_llama(folder: &Path) -> String {
    let shape = ModelShape {
        architecture: Architecture::Llama,
        hidden_size: 32,
        intermediate_size: 48,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 1,
        head_dim: 8,
        rms_norm_eps: 1e-6,
        rope_theta: 1e4,
        rope_scaling: None,
        vocab_size: 256,
        max_position_embeddings: 512,
        tie_word_embeddings: true,
        attention: AttentionOptions {
            query_key_value_bias: true,
            output_bias: true,
            ..Architecture::Llama.attention()
        },
        experts: None,
        initializer_range: 0.2,
        bos_token_id: None,
        eos_token_ids: vec![0],
        pad_token_id: None,
    };
    let config = ModelConfig::new(shape).expect("a shape that can be");
    let model = Decoder::initialise(config, 5, Device::Cpu, Kind::Float);
    for (name, parameter) in model.named_parameters() {
        if name.ends_with("bias") {
            let wave = Tensor::arange(parameter.size()[0], (Kind::Float, Device::Cpu)).sin();
            parameter.shallow_clone().copy_(&(wave * 0.5));
        }
    }
    let path = folder.join("biased");
    model.save(&path, &directory("tiny_qwen2_tied")).expect("a folder to write to");
    format!("model.path={:?}", path.display().to_string())
}

/// Refused before anything is computed: four heads are not divisible by three, nor three processes by two.
#[test]
fn a_model_that_cannot_be_split_is_refused() {
    let cases = [
        (
            3,
            "parallel.tensor=3",
            "`num_attention_heads` is 4, expected a multiple of parallel.tensor = 3; this model can be split into 1, 2 or 4",
        ),
        (
            3,
            "parallel.tensor=2",
            "parallel.tensor is 2, expected a divisor of the number of processes, 3",
        ),
        (1, "parallel.tensor=2", "expected a divisor of the number of processes, 1"),
    ];
    for (count, setting, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        for output in finish(start(commands(count, folder.path(), &[WIDE, setting]))) {
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{text}");
            assert!(text.contains(expected), "{text}");
        }
        assert!(!folder.path().join("run").exists());
    }
}
