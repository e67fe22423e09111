//! Qwen3, dense: norms of each head's queries and keys, and heads of a width of their own.

use super::description::{AttentionOptions, Description};
use super::llama;
use super::qwen2::{read_window, write_window};

pub(super) const DESCRIPTION: Description = Description {
    class_name: "Qwen3ForCausalLM",
    model_type: "qwen3",
    head_dim: Some(128),
    attention: AttentionOptions::WITH_HEAD_NORMS,
    read: |fields| {
        let attention = AttentionOptions::WITH_HEAD_NORMS.with_biases(fields)?;
        Ok(AttentionOptions { sliding_window: read_window(fields)?, ..attention })
    },
    write: |attention, object| {
        object["attention_bias"] = attention.output_bias.into();
        write_window(attention.sliding_window, object);
    },
    ..llama::DESCRIPTION
};
