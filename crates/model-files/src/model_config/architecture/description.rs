//! The form of an architecture's description.

use serde::Serialize;
use serde_json::Value;

use crate::model_config::experts::ExpertOptions;
use crate::model_config::fields::{Fields, Read};

/// Parts of attention that not every model has.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AttentionOptions {
    /// True if the query, key and value projections have biases.
    pub query_key_value_bias: bool,
    /// True if the output projection has a bias.
    pub output_bias: bool,
    /// True if each head's queries and keys pass an RMS norm before they are rotated.
    pub query_key_norm: bool,
    /// Bound on how far back tokens attend, if there is one.
    pub sliding_window: Option<SlidingWindow>,
}

/// A sliding window: a token attends to the last `tokens` tokens, itself included.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SlidingWindow {
    /// Number of tokens that a token attends to, at least 1.
    pub tokens: usize,
    /// First block with the window; earlier blocks attend to all tokens.
    pub first_block: usize,
    /// Every `full_every`-th block attends to all tokens all the same; `None` if none does.
    pub full_every: Option<usize>,
    /// Base of the rotary frequencies in blocks with the window, if it is another; these are not scaled.
    pub rope_theta: Option<f64>,
}

impl SlidingWindow {
    /// A window of every block from `first_block` on.
    pub const fn from_block(first_block: usize, tokens: usize) -> Self {
        Self { tokens, first_block, full_every: None, rope_theta: None }
    }
}

/// Activation of the gate of the MLP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// `x · σ(x)`, "silu".
    Silu,
    /// `x · Φ(x)` with the approximation of `Φ` by `tanh`, "`gelu_pytorch_tanh`".
    GeluTanh,
}

impl Activation {
    /// Field of `config.json`, and its value.
    pub(in crate::model_config) fn field(self) -> (&'static str, &'static str) {
        match self {
            Self::Silu => ("hidden_act", "silu"),
            Self::GeluTanh => ("hidden_activation", "gelu_pytorch_tanh"),
        }
    }
}

/// Parts of the decoder around attention that differ between architectures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockOptions {
    /// Activation of the gate of the MLP.
    pub activation: Activation,
    /// True if norms multiply by `1 + weight` in place of `weight`.
    pub norms_from_one: bool,
    /// True if the results of attention and MLP pass norms before they are added.
    pub output_norms: bool,
    /// True if embedding vectors are multiplied by the root of their width.
    pub scaled_embedding: bool,
}

impl BlockOptions {
    /// The block of Llama, Mistral and Qwen.
    pub const PLAIN: Self = Self {
        activation: Activation::Silu,
        norms_from_one: false,
        output_norms: false,
        scaled_embedding: false,
    };
}

impl AttentionOptions {
    /// Attention without any of the parts.
    pub(super) const PLAIN: Self = Self {
        query_key_value_bias: false,
        output_bias: false,
        query_key_norm: false,
        sliding_window: None,
    };

    /// Attention with norms of heads.
    pub(super) const WITH_HEAD_NORMS: Self = Self { query_key_norm: true, ..Self::PLAIN };

    /// Reads `attention_bias`: biases on all four projections, or none.
    pub(super) fn with_biases(self, fields: &Fields<'_>) -> Read<Self> {
        let bias = fields.flag("attention_bias", false)?;
        Ok(Self { query_key_value_bias: bias, output_bias: bias, ..self })
    }

    /// The window of block `index`, in tokens; `None` if it attends to all tokens.
    pub fn window_of(&self, index: usize) -> Option<usize> {
        let SlidingWindow { tokens, first_block, full_every, .. } = self.sliding_window?;
        let is_full = full_every.is_some_and(|every| (index + 1).is_multiple_of(every));
        (index >= first_block && !is_full).then_some(tokens)
    }
}

/// One architecture's names, and its own fields of `config.json`.
pub(in crate::model_config) struct Description {
    /// Value of `architectures`.
    pub(in crate::model_config) class_name: &'static str,
    /// Value of `model_type`.
    pub(in crate::model_config) model_type: &'static str,
    /// Width of a head where the file names none; `None` for `hidden_size / num_attention_heads`.
    pub(in crate::model_config) head_dim: Option<usize>,
    /// Base of the rotary frequencies where the file names none.
    pub(in crate::model_config) rope_theta: f64,
    /// True if the head is the embedding where the file does not say.
    pub(in crate::model_config) tied: bool,
    /// Parts of a block beside attention.
    pub(in crate::model_config) block: BlockOptions,
    /// Attention of a model whose fields have their usual values.
    pub(in crate::model_config) attention: AttentionOptions,
    /// Reads the fields that change attention.
    pub(in crate::model_config) read: fn(&Fields<'_>) -> Read<AttentionOptions>,
    /// Writes the fields that [`read`](Self::read) reads.
    pub(in crate::model_config) write: fn(AttentionOptions, &mut Value),
    /// The fields of experts, if its blocks have some.
    pub(in crate::model_config) experts: Option<ExpertFields>,
}

/// Reader and writer of the fields of a mixture of experts.
pub(in crate::model_config) struct ExpertFields {
    pub(in crate::model_config) read: fn(&Fields<'_>) -> Read<ExpertOptions>,
    pub(in crate::model_config) write: fn(&ExpertOptions, &mut Value),
}
