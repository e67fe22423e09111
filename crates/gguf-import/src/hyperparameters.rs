//! Sizes and constants of the model, and the `config.json` and `generation_config.json` they make.

use std::collections::BTreeSet;

use model_files::model_config::{Architecture, ModelConfig, ModelShape};
use serde_json::{Value, json};

use super::error::GgufError;
use super::reader::GgufFile;
use super::tensor_dtype::TensorDtype;

/// Reads and cross-checks the metadata. The metadata does not tell if the model is tied: it is taken as such.
pub(super) fn read(gguf: &GgufFile) -> Result<ModelShape, GgufError> {
    let metadata = &gguf.metadata;
    let architecture = match metadata.text("general.architecture")? {
        "qwen2" => Architecture::Qwen2,
        "qwen3" => Architecture::Qwen3,
        "llama" => Architecture::Llama,
        other => {
            let problem = format!("is \"{other}\", expected \"qwen2\", \"qwen3\" or \"llama\"");
            return Err(metadata.error("general.architecture", problem));
        }
    };
    let key = |name: &str| format!("{}.{name}", architecture.model_type());
    let count = |name: &str| metadata.count(&key(name)).map(|count| count as usize);

    let embedding = gguf.tensor("token_embd.weight").ok_or_else(|| {
        GgufError::tensor(&gguf.path, "token_embd.weight", "missing, expected the embedding")
    })?;
    let [vocab_size, hidden_size] = embedding.shape[..] else {
        let problem = format!("has shape {:?}, expected [vocabulary, hidden]", embedding.shape);
        return Err(GgufError::tensor(&gguf.path, "token_embd.weight", problem));
    };
    let declared = count("embedding_length")?;
    if declared != hidden_size {
        let problem = format!("is {declared}, expected {hidden_size} as in token_embd.weight");
        return Err(metadata.error(&key("embedding_length"), problem));
    }
    let [heads, key_value_heads, head_dim] = heads(gguf, architecture, hidden_size)?;
    let layers = count("block_count")?;
    if layers > gguf.tensors().len() {
        let problem = format!("is {layers}, but the file has {} tensors", gguf.tensors().len());
        return Err(metadata.error(&key("block_count"), problem));
    }
    let token = |name: &str| {
        let key = format!("tokenizer.ggml.{name}_token_id");
        match metadata.optional_count(&key)? {
            Some(id) if id as usize >= vocab_size => {
                Err(metadata.error(&key, format!("is {id}, expected an id below {vocab_size}")))
            }
            id => Ok(id),
        }
    };
    Ok(ModelShape {
        architecture,
        hidden_size,
        intermediate_size: count("feed_forward_length")?,
        num_hidden_layers: layers,
        num_attention_heads: heads,
        num_key_value_heads: key_value_heads,
        head_dim,
        max_position_embeddings: count("context_length")?,
        rms_norm_eps: metadata.positive(&key("attention.layer_norm_rms_epsilon"))?,
        rope_theta: metadata.optional_positive(&key("rope.freq_base"))?.unwrap_or(10_000.0),
        rope_scaling: None,
        vocab_size,
        tie_word_embeddings: true,
        attention: architecture.attention(),
        experts: None,
        initializer_range: 0.02,
        bos_token_id: token("bos")?,
        eos_token_ids: token("eos")?.into_iter().collect(),
        pad_token_id: token("padding")?,
    })
}

pub(super) fn config_json(
    gguf: &GgufFile,
    model: &ModelShape,
    dtype: TensorDtype,
) -> Result<Value, GgufError> {
    let key = model.architecture.model_type();
    let config = ModelConfig::new(model.clone())
        .map_err(|error| gguf.metadata.error(key, error.to_string()))?;
    Ok(config.to_json(dtype.torch_name()))
}

/// The model's `generation_config.json`. Qwen models stop at the padding token as well.
pub(super) fn generation_config_json(model: &ModelShape) -> Value {
    let stop = if is_qwen(model.architecture) {
        let ids = model.eos_token_ids.iter().chain(&model.pad_token_id);
        let ids = ids.collect::<BTreeSet<_>>();
        json!(ids.into_iter().rev().collect::<Vec<_>>())
    } else {
        json!(model.eos_token_ids.first())
    };
    json!({
        "bos_token_id": model.bos_token_id,
        "eos_token_id": stop,
        "pad_token_id": model.pad_token_id,
        "do_sample": false,
    })
}

/// Returns true for models whose GGUF files have the tokenizer and stop tokens of Qwen.
pub(super) fn is_qwen(architecture: Architecture) -> bool {
    matches!(architecture, Architecture::Qwen2 | Architecture::Qwen3)
}

/// Reads heads, key/value heads and the width of a head, whose positions must be rotated plainly.
fn heads(
    gguf: &GgufFile,
    architecture: Architecture,
    hidden_size: usize,
) -> Result<[usize; 3], GgufError> {
    let metadata = &gguf.metadata;
    let key = |name: &str| format!("{}.{name}", architecture.model_type());
    let optional = |name: &str| metadata.optional_count(&key(name)).map(|n| n.map(|n| n as usize));
    let heads = metadata.count(&key("attention.head_count"))? as usize;
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
    if let Some(window) = optional("attention.sliding_window")? {
        let problem = format!("is {window}, expected none: windows are not handled");
        return Err(metadata.error(&key("attention.sliding_window"), problem));
    }
    if let Some(scaling) = metadata.optional_text(&key("rope.scaling.type"))?
        && scaling != "none"
    {
        let problem = format!("is \"{scaling}\", expected none: scaled positions are not handled");
        return Err(metadata.error(&key("rope.scaling.type"), problem));
    }
    Ok([heads, key_value_heads, head_dim])
}
