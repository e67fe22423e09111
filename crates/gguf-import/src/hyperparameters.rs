//! Sizes and constants of the model, and the `config.json` and `generation_config.json` they make.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::error::GgufError;
use super::reader::GgufFile;
use super::tensor_dtype::TensorDtype;

/// The decoder families that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// Qwen2 and Qwen2.5: biases on q, k and v.
    Qwen2,
    /// Llama and SmolLM2: rows of q and k permuted in the GGUF file.
    Llama,
}

impl Architecture {
    /// Name in GGUF metadata and in `model_type`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qwen2 => "qwen2",
            Self::Llama => "llama",
        }
    }
}

/// Everything about the model's shape that the metadata tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Hyperparameters {
    /// Decoder family.
    pub architecture: Architecture,
    /// Rows of the embedding, padding included.
    pub vocab_size: u64,
    /// Width of the residual stream.
    pub hidden_size: u64,
    /// Width of the feed-forward layer.
    pub intermediate_size: u64,
    /// Number of decoder blocks.
    pub layers: u64,
    /// Number of query heads.
    pub heads: u64,
    /// Number of key and value heads.
    pub key_value_heads: u64,
    /// Width of one head.
    pub head_dim: u64,
    /// Longest sequence the model was trained on, in tokens.
    pub context_tokens: u64,
    /// Epsilon of the root-mean-square norms.
    pub rms_norm_eps: f64,
    /// Base of the rotary position angles.
    pub rope_theta: f64,
    /// First token of a text, if the tokenizer has one.
    pub bos_token_id: Option<u32>,
    /// Last token of a reply.
    pub eos_token_id: Option<u32>,
    /// Padding token.
    pub pad_token_id: Option<u32>,
}

impl Hyperparameters {
    /// Reads and cross-checks the metadata.
    ///
    /// # Errors
    ///
    /// [`GgufError::Metadata`] or [`GgufError::Tensor`], naming the entry and what was expected.
    pub fn read(gguf: &GgufFile) -> Result<Self, GgufError> {
        let metadata = gguf.metadata();
        let architecture = match metadata.text("general.architecture")? {
            "qwen2" => Architecture::Qwen2,
            "llama" => Architecture::Llama,
            other => {
                let problem = format!("is \"{other}\", expected \"qwen2\" or \"llama\"");
                return Err(metadata.error("general.architecture", problem));
            }
        };
        let key = |name: &str| format!("{}.{name}", architecture.name());
        let count = |name: &str| metadata.count(&key(name)).map(u64::from);

        let embedding = gguf.tensor("token_embd.weight").ok_or_else(|| {
            GgufError::tensor(gguf.path(), "token_embd.weight", "missing, expected the embedding")
        })?;
        let [vocab_size, hidden_size] = embedding.shape[..] else {
            let problem = format!("has shape {:?}, expected [vocabulary, hidden]", embedding.shape);
            return Err(GgufError::tensor(gguf.path(), "token_embd.weight", problem));
        };
        let declared = count("embedding_length")?;
        if declared != hidden_size {
            let problem = format!("is {declared}, expected {hidden_size} as in token_embd.weight");
            return Err(metadata.error(&key("embedding_length"), problem));
        }
        let [heads, key_value_heads, head_dim] = heads(gguf, architecture, hidden_size)?;
        let layers = count("block_count")?;
        if layers > gguf.tensors().len() as u64 {
            let problem = format!("is {layers}, but the file has {} tensors", gguf.tensors().len());
            return Err(metadata.error(&key("block_count"), problem));
        }
        let token = |name: &str| {
            let key = format!("tokenizer.ggml.{name}_token_id");
            match metadata.optional_count(&key)? {
                Some(id) if u64::from(id) >= vocab_size => {
                    Err(metadata.error(&key, format!("is {id}, expected an id below {vocab_size}")))
                }
                id => Ok(id),
            }
        };
        Ok(Self {
            architecture,
            vocab_size,
            hidden_size,
            intermediate_size: count("feed_forward_length")?,
            layers,
            heads,
            key_value_heads,
            head_dim,
            context_tokens: count("context_length")?,
            rms_norm_eps: metadata.positive(&key("attention.layer_norm_rms_epsilon"))?,
            rope_theta: metadata.optional_positive(&key("rope.freq_base"))?.unwrap_or(10_000.0),
            bos_token_id: token("bos")?,
            eos_token_id: token("eos")?,
            pad_token_id: token("padding")?,
        })
    }

    /// The model's `config.json`.
    pub fn config_json(&self, tied: bool, dtype: TensorDtype) -> Value {
        let class = match self.architecture {
            Architecture::Qwen2 => "Qwen2ForCausalLM",
            Architecture::Llama => "LlamaForCausalLM",
        };
        let mut config = json!({
            "architectures": [class],
            "model_type": self.architecture.name(),
            "vocab_size": self.vocab_size,
            "hidden_size": self.hidden_size,
            "intermediate_size": self.intermediate_size,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
            "num_key_value_heads": self.key_value_heads,
            "hidden_act": "silu",
            "max_position_embeddings": self.context_tokens,
            "rms_norm_eps": self.rms_norm_eps,
            "rope_theta": self.rope_theta,
            "tie_word_embeddings": tied,
            "initializer_range": 0.02,
            "attention_dropout": 0.0,
            "use_cache": true,
            "bos_token_id": self.bos_token_id,
            "eos_token_id": self.eos_token_id,
            "pad_token_id": self.pad_token_id,
            "torch_dtype": dtype.torch_name(),
        });
        match self.architecture {
            Architecture::Qwen2 => {
                config["use_sliding_window"] = false.into();
                config["sliding_window"] = self.context_tokens.into();
                config["max_window_layers"] = self.layers.into();
            }
            Architecture::Llama => {
                config["attention_bias"] = false.into();
                config["mlp_bias"] = false.into();
                config["head_dim"] = self.head_dim.into();
                config["rope_scaling"] = Value::Null;
            }
        }
        config
    }

    /// The model's `generation_config.json`. Qwen models stop at the padding token as well.
    pub fn generation_config_json(&self) -> Value {
        let stop = match self.architecture {
            Architecture::Llama => json!(self.eos_token_id),
            Architecture::Qwen2 => {
                let ids = [self.eos_token_id, self.pad_token_id].into_iter().flatten();
                let ids = ids.collect::<BTreeSet<_>>();
                json!(ids.into_iter().rev().collect::<Vec<_>>())
            }
        };
        json!({
            "bos_token_id": self.bos_token_id,
            "eos_token_id": stop,
            "pad_token_id": self.pad_token_id,
            "do_sample": false,
        })
    }
}

/// Reads heads, key/value heads and the width of a head, whose positions must be rotated plainly.
fn heads(
    gguf: &GgufFile,
    architecture: Architecture,
    hidden_size: u64,
) -> Result<[u64; 3], GgufError> {
    let metadata = gguf.metadata();
    let key = |name: &str| format!("{}.{name}", architecture.name());
    let optional = |name: &str| metadata.optional_count(&key(name)).map(|n| n.map(u64::from));
    let heads = u64::from(metadata.count(&key("attention.head_count"))?);
    let key_value_heads = optional("attention.head_count_kv")?.unwrap_or(heads);
    if key_value_heads == 0 || !heads.is_multiple_of(key_value_heads) {
        let problem = format!("is {key_value_heads}, expected a divisor of {heads} heads");
        return Err(metadata.error(&key("attention.head_count_kv"), problem));
    }
    let head_dim = optional("attention.key_length")?.unwrap_or(hidden_size / heads);
    if head_dim == 0 || !head_dim.is_multiple_of(2) {
        let problem = format!("{heads} heads of width {head_dim}, expected an even width");
        return Err(metadata.error(&key("attention.head_count"), problem));
    }
    if architecture == Architecture::Qwen2 && head_dim.checked_mul(heads) != Some(hidden_size) {
        let problem = format!("is {heads}, expected heads x {head_dim} = {hidden_size}");
        return Err(metadata.error(&key("attention.head_count"), problem));
    }
    let rotated = optional("rope.dimension_count")?.unwrap_or(head_dim);
    if rotated != head_dim {
        let problem = format!("is {rotated}, expected the whole head ({head_dim})");
        return Err(metadata.error(&key("rope.dimension_count"), problem));
    }
    if let Some(scaling) = metadata.optional_text(&key("rope.scaling.type"))?
        && scaling != "none"
    {
        let problem = format!("is \"{scaling}\", expected none: scaled positions are not handled");
        return Err(metadata.error(&key("rope.scaling.type"), problem));
    }
    Ok([heads, key_value_heads, head_dim])
}
