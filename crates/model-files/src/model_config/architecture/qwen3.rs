//! Qwen3, dense: norms of each head's queries and keys, and heads of a width of their own.

use super::description::{AttentionOptions, BlockOptions, Description};
use super::qwen2::{read_window, write_window};

const ATTENTION: AttentionOptions =
    AttentionOptions { query_key_norm: true, ..AttentionOptions::PLAIN };

pub(super) const DESCRIPTION: Description = Description {
    class_name: "Qwen3ForCausalLM",
    model_type: "qwen3",
    head_dim: Some(128),
    rope_theta: 10_000.0,
    tied: false,
    block: BlockOptions::PLAIN,
    attention: ATTENTION,
    read: |fields| {
        let bias = fields.flag("attention_bias", false)?;
        Ok(AttentionOptions {
            query_key_value_bias: bias,
            output_bias: bias,
            sliding_window: read_window(fields)?,
            ..ATTENTION
        })
    },
    write: |attention, object| {
        object["attention_bias"] = attention.output_bias.into();
        write_window(attention.sliding_window, object);
    },
    experts: None,
};
