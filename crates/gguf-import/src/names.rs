//! Map from the tensors of a GGUF file to Hugging Face names.

use std::collections::HashSet;

use model_files::model_config::Architecture;

use super::error::GgufError;
use super::hyperparameters::Hyperparameters;
use super::reader::{GgufFile, TensorInfo, in_memory};

/// One tensor to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTensor {
    /// Hugging Face name, such as `model.layers.0.self_attn.q_proj.weight`.
    pub name: String,
    /// Tensor in the GGUF file that holds its elements.
    pub source: TensorInfo,
    /// Heads whose rows have to be put back in order, see [`unpermute`].
    pub permuted_heads: Option<u64>,
}

/// Parts of a block: Hugging Face name, GGUF name, in the order they are written.
const BLOCK_PARTS: [(&str, &str); 11] = [
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
    ("input_layernorm", "attn_norm"),
    ("post_attention_layernorm", "ffn_norm"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
];

/// Returns all tensors to write, in the order of `model.safetensors`.
///
/// `embedding` is the GGUF tensor written as `model.embed_tokens.weight`; a tied model has no
/// `lm_head.weight`.
///
/// # Errors
///
/// [`GgufError::Tensor`] if a tensor is missing, of the wrong shape, or has no place in the model.
pub fn plan(
    gguf: &GgufFile,
    model: &Hyperparameters,
    embedding: &str,
    tied: bool,
) -> Result<Vec<PlannedTensor>, GgufError> {
    let find = |name: String, source: String, shape: &[u64], permuted_heads| {
        let Some(tensor) = gguf.tensor(&source) else {
            let problem = format!("missing, expected shape {shape:?} for `{name}`");
            return Err(GgufError::tensor(gguf.path(), &source, problem));
        };
        if tensor.shape != shape {
            let problem = format!("has shape {:?}, expected {shape:?}", tensor.shape);
            return Err(GgufError::tensor(gguf.path(), &source, problem));
        }
        Ok(PlannedTensor { name, source: tensor.clone(), permuted_heads })
    };
    let find_plain = |name: &str, source: &str, shape: &[u64]| {
        find(name.to_owned(), source.to_owned(), shape, None)
    };
    let matrix = [model.vocab_size, model.hidden_size];
    let mut planned = vec![find_plain("model.embed_tokens.weight", embedding, &matrix)?];
    for layer in 0..model.layers {
        let has_norms_of_heads = model.architecture.attention().query_key_norm;
        for (name, source) in &BLOCK_PARTS[..if has_norms_of_heads { 11 } else { 9 }] {
            let (name, source) =
                (format!("model.layers.{layer}.{name}"), format!("blk.{layer}.{source}"));
            let shape = part_shape(&source, model);
            let permuted = permuted_heads(&source, model);
            let weight = (format!("{name}.weight"), format!("{source}.weight"));
            planned.push(find(weight.0, weight.1, &shape, permuted)?);
            if needs_bias(&source, model) {
                let bias = (format!("{name}.bias"), format!("{source}.bias"));
                planned.push(find(bias.0, bias.1, &shape[..1], permuted)?);
            }
        }
    }
    planned.push(find_plain("model.norm.weight", "output_norm.weight", &[model.hidden_size])?);
    if !tied {
        planned.push(find_plain("lm_head.weight", "output.weight", &matrix)?);
    }
    let used = planned.iter().map(|tensor| tensor.source.name.as_str());
    let used = used.chain(["output.weight", "token_embd.weight"]).collect::<HashSet<_>>();
    match gguf.tensors().iter().find(|tensor| !used.contains(tensor.name.as_str())) {
        Some(left) => {
            let problem = format!("has no place in a {} model", model.architecture.model_type());
            Err(GgufError::tensor(gguf.path(), &left.name, problem))
        }
        None => Ok(planned),
    }
}

fn part(source: &str) -> &str {
    source.rsplit('.').next().unwrap_or(source)
}

fn part_shape(source: &str, model: &Hyperparameters) -> Vec<u64> {
    let (hidden, inner) = (model.hidden_size, model.intermediate_size);
    // An absurd head count gives a shape that no tensor in the file has.
    let queries = model.heads.saturating_mul(model.head_dim);
    let keys = model.key_value_heads.saturating_mul(model.head_dim);
    match part(source) {
        "attn_q" => vec![queries, hidden],
        "attn_k" | "attn_v" => vec![keys, hidden],
        "attn_output" => vec![hidden, queries],
        "ffn_gate" | "ffn_up" => vec![inner, hidden],
        "ffn_down" => vec![hidden, inner],
        "attn_q_norm" | "attn_k_norm" => vec![model.head_dim],
        _ => vec![hidden],
    }
}

fn permuted_heads(source: &str, model: &Hyperparameters) -> Option<u64> {
    match (model.architecture, part(source)) {
        (Architecture::Llama, "attn_q") => Some(model.heads),
        (Architecture::Llama, "attn_k") => Some(model.key_value_heads),
        _ => None,
    }
}

fn needs_bias(source: &str, model: &Hyperparameters) -> bool {
    model.architecture.attention().query_key_value_bias
        && matches!(part(source), "attn_q" | "attn_k" | "attn_v")
}

/// Puts the rows of a llama q or k matrix `[heads · width, columns]` back in Hugging Face order.
///
/// llama.cpp rotates neighbouring elements of a head, Hugging Face element `i` with `i + width/2`;
/// its converter therefore interleaved the two halves of each head's rows. Row `(h, half, i)` here
/// is row `(h, i, half)` there.
///
/// # Panics
///
/// If `elements` is not `heads` heads of an even number of rows.
pub fn unpermute(elements: &[f32], heads: u64, columns: u64) -> Vec<f32> {
    let (heads, columns) = (in_memory(heads), in_memory(columns));
    let rows = elements.len() / columns;
    let width = rows / heads;
    assert!(rows * columns == elements.len() && width * heads == rows, "heads cut a row");
    assert!(width.is_multiple_of(2), "a head has {width} rows, expected an even number");
    let mut ordered = Vec::with_capacity(elements.len());
    for head in 0..heads {
        for half in 0..2 {
            for index in 0..width / 2 {
                let row = head * width + 2 * index + half;
                ordered.extend_from_slice(&elements[row * columns..][..columns]);
            }
        }
    }
    ordered
}
