//! Map from the tensors of a GGUF file to Hugging Face names.

use std::collections::HashSet;

use model_files::model_config::{Architecture, ModelShape};

use super::error::GgufError;
use super::reader::{GgufFile, TensorInfo};

pub(super) struct PlannedTensor {
    /// Hugging Face name, such as `model.layers.0.self_attn.q_proj.weight`.
    pub(super) name: String,
    /// Tensor in the GGUF file that holds its elements.
    pub(super) source: TensorInfo,
    /// Heads whose rows have to be put back in order, see [`unpermute`].
    pub(super) permuted_heads: Option<usize>,
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
pub(super) fn plan(
    gguf: &GgufFile,
    model: &ModelShape,
    embedding: &str,
) -> Result<Vec<PlannedTensor>, GgufError> {
    let find = |name: &str, source: &str, shape: &[usize], permuted_heads| {
        let source = source_of(gguf, name, source, shape)?.clone();
        Ok::<_, GgufError>(PlannedTensor { name: name.to_owned(), source, permuted_heads })
    };
    let matrix = [model.vocab_size, model.hidden_size];
    let mut planned = vec![find("model.embed_tokens.weight", embedding, &matrix, None)?];
    for layer in 0..model.num_hidden_layers {
        for (name, part) in &BLOCK_PARTS[..if model.attention.query_key_norm { 11 } else { 9 }] {
            let (name, source) =
                (format!("model.layers.{layer}.{name}"), format!("blk.{layer}.{part}"));
            let (shape, permuted) = (part_shape(part, model), permuted_heads(part, model));
            let (weight, of_weight) = (format!("{name}.weight"), format!("{source}.weight"));
            planned.push(find(&weight, &of_weight, &shape, permuted)?);
            let is_projected = matches!(*part, "attn_q" | "attn_k" | "attn_v");
            if model.attention.query_key_value_bias && is_projected {
                let (bias, of_bias) = (format!("{name}.bias"), format!("{source}.bias"));
                planned.push(find(&bias, &of_bias, &shape[..1], permuted)?);
            }
        }
    }
    planned.push(find("model.norm.weight", "output_norm.weight", &[model.hidden_size], None)?);
    if !model.tie_word_embeddings {
        planned.push(find("lm_head.weight", "output.weight", &matrix, None)?);
    }
    let used = planned.iter().map(|tensor| tensor.source.name.as_str());
    let used = used.chain(["output.weight", "token_embd.weight"]).collect::<HashSet<_>>();
    match gguf.tensors().iter().find(|tensor| !used.contains(tensor.name.as_str())) {
        Some(left) => {
            let problem = format!("has no place in a {} model", model.architecture.model_type());
            Err(GgufError::tensor(&gguf.path, &left.name, problem))
        }
        None => Ok(planned),
    }
}

/// Returns the GGUF tensor `source` of the Hugging Face tensor `name`, if it has this shape.
pub(super) fn source_of<'a>(
    gguf: &'a GgufFile,
    name: &str,
    source: &str,
    shape: &[usize],
) -> Result<&'a TensorInfo, GgufError> {
    let problem = match gguf.tensor(source) {
        Some(tensor) if tensor.shape == shape => return Ok(tensor),
        Some(tensor) => format!("has shape {:?}, expected {shape:?}", tensor.shape),
        None => format!("missing, expected shape {shape:?} for `{name}`"),
    };
    Err(GgufError::tensor(&gguf.path, source, problem))
}

fn part_shape(part: &str, model: &ModelShape) -> Vec<usize> {
    let (hidden, inner) = (model.hidden_size, model.intermediate_size);
    // An absurd head count gives a shape that no tensor in the file has.
    let queries = model.num_attention_heads.saturating_mul(model.head_dim);
    let keys = model.num_key_value_heads.saturating_mul(model.head_dim);
    match part {
        "attn_q" => vec![queries, hidden],
        "attn_k" | "attn_v" => vec![keys, hidden],
        "attn_output" => vec![hidden, queries],
        "ffn_gate" | "ffn_up" => vec![inner, hidden],
        "ffn_down" => vec![hidden, inner],
        "attn_q_norm" | "attn_k_norm" => vec![model.head_dim],
        _ => vec![hidden],
    }
}

fn permuted_heads(part: &str, model: &ModelShape) -> Option<usize> {
    match (model.architecture, part) {
        (Architecture::Llama, "attn_q") => Some(model.num_attention_heads),
        (Architecture::Llama, "attn_k") => Some(model.num_key_value_heads),
        _ => None,
    }
}

/// Puts the rows of a llama q or k matrix `[heads · width, columns]` back in Hugging Face order.
///
/// llama.cpp rotates neighbouring elements of a head, Hugging Face element `i` with `i + width/2`;
/// its converter therefore interleaved the two halves of each head's rows. Row `(h, half, i)` here
/// is row `(h, i, half)` there.
pub(super) fn unpermute(elements: &[f32], heads: usize, columns: usize) -> Vec<f32> {
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
