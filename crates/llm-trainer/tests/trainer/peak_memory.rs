//! The matrix `[tokens, vocab]` never exists: what a large vocabulary costs does not grow with the tokens.

use std::process::Command;

use decoder::model::Decoder;
use llm_trainer::training::policy_pass::{Cotangent, Sequence};
use model_files::model_config::{ModelConfig, ModelShape};
use ranks::device::peak_memory_bytes;
use tch::{Device, Kind};

use crate::fixture::{one_thread, small_shape};
use crate::update::pass;

/// That of Qwen2.5.
const VOCABULARY: usize = 151_936;

const CHILD: &str = "LLM_TRAINER_TEST_PEAK_MEMORY";

fn model() -> Decoder {
    one_thread();
    let config = ModelConfig::new(ModelShape {
        intermediate_size: 16,
        num_hidden_layers: 1,
        num_attention_heads: 2,
        head_dim: 8,
        vocab_size: VOCABULARY,
        max_position_embeddings: 4096,
        initializer_range: 0.2,
        ..small_shape()
    });
    let model = Decoder::initialise(config.expect("a valid shape"), 1, Device::Cpu, Kind::Float);
    model.set_trainable(true);
    model
}

/// Log-probabilities, entropies and the gradient of both, over so many response tokens.
fn forward_and_backward(model: &Decoder, tokens: usize) {
    let sequences: Vec<Sequence> = (0..tokens / 128)
        .map(|row| Sequence {
            prompt: vec![1, 2],
            response: (0..128)
                .map(|t| (row * 7919 + t * 104_729) % VOCABULARY)
                .filter_map(|id| u32::try_from(id).ok())
                .collect(),
            mask: None,
            routes: None,
            given: Vec::new(),
        })
        .collect();
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let pass = pass(model, 100_000, usize::MAX);
    assert_eq!(pass.statistics(&sequences).entropy.len(), tokens);
    let cotangent = Cotangent { log_prob: vec![1e-3; tokens], entropy: Some(vec![1e-3; tokens]) };
    pass.checkpointed_forward(&sequences).backward(&cotangent).expect("the model is trainable");
}

/// Runs itself in a process of its own, as a peak is that of a whole process.
#[test]
fn memory_for_a_vocabulary_of_152k_does_not_grow_with_the_tokens() {
    let peak = || peak_memory_bytes().expect("the system says");
    if let Ok(tokens) = std::env::var(CHILD) {
        let model = model();
        let mut peaks = vec![peak()];
        for tokens in tokens.split(' ') {
            forward_and_backward(&model, tokens.parse().unwrap());
            peaks.push(peak());
        }
        let peaks: Vec<String> = peaks.iter().map(u64::to_string).collect();
        eprintln!("\npeaks {}", peaks.join(" "));
        return;
    }
    let name = "peak_memory::memory_for_a_vocabulary_of_152k_does_not_grow_with_the_tokens";
    let child = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture", "--test-threads", "1"])
        // More than a chunk each time, so that the later buffers have the sizes of the earlier ones.
        .env(CHILD, "256 256 896")
        // Large buffers are mapped one by one: a peak is of what lives, not of the heap's gaps, which differ between builds.
        .env("MALLOC_MMAP_THRESHOLD_", "1048576")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&child.stderr);
    let line = text.lines().find_map(|line| line.strip_prefix("peaks ")).expect("the child ran");
    let peaks: Vec<f64> = line.split(' ').map(|bytes| bytes.parse().unwrap()).collect();
    let matrix = |tokens: usize| (tokens * VOCABULARY * 4) as f64;
    // The second call finds gradients to add to; the third has nothing new but tokens.
    let (total, growth) = (peaks[3] - peaks[0], peaks[3] - peaks[2]);
    assert!(growth < 0.1 * matrix(640), "{peaks:?}");
    // A handful of buffers of a chunk, whatever the tokens.
    let chunk = 4.0 * f64::from(model_files::buffer_limits::CHUNK_LOGITS);
    assert!(total < 10.0 * chunk, "{peaks:?}");
}
