//! The recorded models and what the reference implementation said of them.

use std::path::{Path, PathBuf};
use std::sync::Once;

use decoder::model::Decoder;
use model_files::model_config::{Architecture, ModelShape};
use tch::{Device, Kind, Tensor};

/// Both recorded models: the head tied to the embedding, and not.
pub(crate) const MODELS: [&str; 2] = ["tiny_qwen2_tied", "tiny_qwen2_untied"];

/// Recorded models of every architecture.
pub(crate) const RECORDED: [&str; 7] = [
    "tiny_qwen2_tied",
    "tiny_qwen2_untied",
    "tiny_qwen3",
    "tiny_qwen3_moe",
    "tiny_mistral",
    "tiny_qwen2_long",
    "tiny_gemma3",
];

/// Many tests run at once: a team of threads for each would only spin.
pub(crate) fn one_thread() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| tch::set_num_threads(1));
}

pub(crate) fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// A recorded model in f32 on the CPU.
pub(crate) fn decoder(name: &str) -> Decoder {
    one_thread();
    Decoder::load(&directory(name), Device::Cpu, Kind::Float).expect("a recorded model loads")
}

/// Shape of a small model of the Qwen2 architecture.
pub(crate) fn small_shape() -> ModelShape {
    ModelShape {
        architecture: Architecture::Qwen2,
        hidden_size: 16,
        intermediate_size: 24,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: 4,
        rms_norm_eps: 1e-6,
        rope_theta: 10_000.0,
        rope_scaling: None,
        vocab_size: 31,
        max_position_embeddings: 64,
        tie_word_embeddings: true,
        attention: Architecture::Qwen2.attention(),
        experts: None,
        // Wide, so that distributions are far from uniform and every method selects something.
        initializer_range: 0.6,
        bos_token_id: None,
        eos_token_ids: vec![0],
        pad_token_id: None,
    }
}

/// Outputs of the reference implementation for a recorded model.
pub(crate) struct Expected(Vec<(String, Tensor)>);

impl Expected {
    pub(crate) fn load(name: &str) -> Self {
        let path = directory(name).join("expected.safetensors");
        Self(Tensor::read_safetensors(path).expect("recorded with the model"))
    }

    pub(crate) fn get(&self, name: &str) -> &Tensor {
        self.find(name).unwrap_or_else(|| panic!("`{name}` is not recorded"))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Tensor> {
        self.0.iter().find(|(found, _)| found == name).map(|(_, tensor)| tensor)
    }

    pub(crate) fn ids(&self, name: &str) -> Vec<u32> {
        let ids = Vec::<i64>::try_from(self.get(name)).expect("recorded as i64");
        ids.into_iter().map(|id| u32::try_from(id).expect("a token id")).collect()
    }
}

/// Logits `[rows, len, vocab]` by one forward pass.
pub(crate) fn logits(decoder: &Decoder, token_ids: &Tensor) -> Tensor {
    decoder.forward(token_ids).linear(decoder.head(), None::<&Tensor>)
}

/// Largest absolute difference; shapes must agree.
pub(crate) fn distance(left: &Tensor, right: &Tensor) -> f64 {
    assert_eq!(left.size(), right.size());
    (left.to_kind(Kind::Double) - right.to_kind(Kind::Double)).abs().max().double_value(&[])
}

/// Copies a recorded model to a folder where a test may spoil it.
pub(crate) fn copy_to(name: &str, target: &Path) {
    std::fs::create_dir_all(target).expect("a fresh temporary folder");
    for file in ["config.json", "generation_config.json", "model.safetensors", "tokenizer.json"] {
        std::fs::copy(directory(name).join(file), target.join(file)).expect("the fixture is whole");
    }
}

/// Standard error of a command without its first line, which names the device.
pub(crate) fn said_beside_the_device(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.split_inclusive('\n');
    lines.filter(|line| !line.starts_with("llm-trainer: device ")).collect()
}
