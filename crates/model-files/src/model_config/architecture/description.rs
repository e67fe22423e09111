//! The form of an architecture's description.

use serde::Serialize;
use serde_json::Value;

use crate::model_config::error::ModelConfigError;
use crate::model_config::experts::ExpertOptions;
use crate::model_config::fields::Fields;

/// Parts of attention that not every model has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct SlidingWindow {
    /// Number of tokens that a token attends to, at least 1.
    pub tokens: usize,
    /// First block with the window; earlier blocks attend to all tokens.
    pub first_block: usize,
}

impl AttentionOptions {
    /// Attention without any of the parts.
    pub(super) const PLAIN: Self = Self {
        query_key_value_bias: false,
        output_bias: false,
        query_key_norm: false,
        sliding_window: None,
    };

    /// The window of block `index`, in tokens; `None` if it attends to all tokens.
    pub fn window_of(&self, index: usize) -> Option<usize> {
        let window = self.sliding_window.filter(|window| index >= window.first_block)?;
        Some(window.tokens)
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
    /// Attention of a model whose fields have their usual values.
    pub(in crate::model_config) attention: AttentionOptions,
    /// Reads the fields that change attention.
    pub(in crate::model_config) read: fn(&Fields<'_>) -> Result<AttentionOptions, ModelConfigError>,
    /// Writes the fields that [`read`](Self::read) reads.
    pub(in crate::model_config) write: fn(AttentionOptions, &mut Value),
    /// The fields of experts, if its blocks have some.
    pub(in crate::model_config) experts: Option<ExpertFields>,
}

/// Reader and writer of the fields of a mixture of experts.
pub(in crate::model_config) struct ExpertFields {
    pub(in crate::model_config) read: fn(&Fields<'_>) -> Result<ExpertOptions, ModelConfigError>,
    pub(in crate::model_config) write: fn(&ExpertOptions, &mut Value),
}
