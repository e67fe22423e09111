//! A decoder's tensors by their role, for code that lays them out anew.

use tch::Tensor;

use super::block::Block;
use super::decoder::Decoder;
use super::projection::Projection;

/// Tensors over the decoder's memory; corrections of an adapter are added, in memory of their own.
#[derive(Debug)]
pub(crate) struct DecoderTensors {
    /// `[vocab, hidden]`.
    pub(crate) embedding: Tensor,
    /// `[vocab, hidden]`; `None` where the embedding serves.
    pub(crate) untied_head: Option<Tensor>,
    /// In order.
    pub(crate) blocks: Vec<BlockTensors>,
    /// `[hidden]`.
    pub(crate) final_norm: Tensor,
    /// Radians per position of the rotary embedding, `[head_dim / 2]`.
    pub(crate) frequency: Tensor,
    /// Factor of cosine and sine, if they are scaled.
    pub(crate) attention_factor: Option<f64>,
}

/// The tensors of a block.
#[derive(Debug)]
pub(crate) struct BlockTensors {
    /// `[hidden]`.
    pub(crate) attention_norm: Tensor,
    /// Weights `[heads · head_dim, hidden]`.
    pub(crate) query_key_value: [Tensor; 3],
    /// Their biases.
    pub(crate) query_key_value_bias: Option<[Tensor; 3]>,
    /// Norms of a head's queries and keys, `[head_dim]`.
    pub(crate) head_norms: Option<[Tensor; 2]>,
    /// Weight `[hidden, heads · head_dim]`.
    pub(crate) output: Tensor,
    /// Its bias.
    pub(crate) output_bias: Option<Tensor>,
    /// `[hidden]`.
    pub(crate) mlp_norm: Tensor,
    /// Weights `[intermediate, hidden]`.
    pub(crate) gate_up: [Tensor; 2],
    /// Weight `[hidden, intermediate]`.
    pub(crate) down: Tensor,
}

impl Decoder {
    /// The tensors by their role; `None` for a model with experts or split over ranks.
    pub(crate) fn tensors(&self) -> Option<DecoderTensors> {
        let _no_grad = tch::no_grad_guard();
        let (head, embedding) = (self.head(), self.embedding());
        let tied = self.config().tie_word_embeddings;
        if self.placement.group.is_some() {
            return None;
        }
        Some(DecoderTensors {
            untied_head: (!tied).then(|| head.shallow_clone()),
            embedding: embedding.shallow_clone(),
            blocks: self.blocks().iter().map(block_tensors).collect::<Option<_>>()?,
            final_norm: self.last_norm().weight.shallow_clone(),
            frequency: self.rope().frequency.shallow_clone(),
            attention_factor: self.rope().attention_factor,
        })
    }
}

fn block_tensors(block: &Block) -> Option<BlockTensors> {
    let (attention, mlp) = (&block.attention, block.feed_forward.mlp()?);
    let three = [&attention.query, &attention.key, &attention.value];
    let bias = |index: usize| three[index].bias.as_ref().map(Tensor::shallow_clone);
    Some(BlockTensors {
        attention_norm: block.attention_norm.weight.shallow_clone(),
        query_key_value: three.map(Projection::merged_weight),
        query_key_value_bias: match (bias(0), bias(1), bias(2)) {
            (Some(query), Some(key), Some(value)) => Some([query, key, value]),
            _ => None,
        },
        head_norms: attention
            .head_norms
            .as_ref()
            .map(|norms| norms.each_ref().map(|norm| norm.weight.shallow_clone())),
        output: attention.output.merged_weight(),
        output_bias: attention.output.bias.as_ref().map(Tensor::shallow_clone),
        mlp_norm: block.mlp_norm.weight.shallow_clone(),
        gate_up: [mlp.gate.merged_weight(), mlp.up.merged_weight()],
        down: mlp.down.merged_weight(),
    })
}
