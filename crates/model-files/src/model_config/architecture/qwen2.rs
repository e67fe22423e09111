//! Qwen2 and Qwen2.5: biases on queries, keys and values, and a sliding window in the last blocks if asked for.

use serde_json::Value;

use super::description::{AttentionOptions, Description, SlidingWindow};
use super::llama;
use crate::model_config::fields::{Fields, Read};

const ATTENTION: AttentionOptions =
    AttentionOptions { query_key_value_bias: true, ..AttentionOptions::PLAIN };

pub(super) const DESCRIPTION: Description = Description {
    class_name: "Qwen2ForCausalLM",
    model_type: "qwen2",
    attention: ATTENTION,
    read: |fields| Ok(AttentionOptions { sliding_window: read_window(fields)?, ..ATTENTION }),
    write: |attention, object| write_window(attention.sliding_window, object),
    ..llama::DESCRIPTION
};

/// Reads `use_sliding_window`, `sliding_window`, `max_window_layers` and `layer_types`, which Qwen3 shares.
pub(super) fn read_window(fields: &Fields<'_>) -> Read<Option<SlidingWindow>> {
    let tokens = if fields.flag("use_sliding_window", false)? {
        fields.count_or_null("sliding_window", 4096)?
    } else {
        None
    };
    let first_block = fields.count_or("max_window_layers", 28)?;
    let window = tokens.map(|tokens| SlidingWindow::from_block(first_block, tokens));
    let Some(types) = fields.present("layer_types").and_then(Value::as_array) else {
        return Ok(window);
    };
    // Newer files list the kind of each block, which takes precedence.
    let first_block = types.iter().take_while(|kind| *kind == "full_attention").count();
    let slides = types.iter().skip(first_block).all(|kind| *kind == "sliding_attention");
    match tokens {
        Some(tokens) if slides => Ok(Some(SlidingWindow::from_block(first_block, tokens))),
        None if first_block == types.len() => Ok(None),
        _ => Err(fields.fault(
            "layer_types",
            "full_attention, then sliding_attention if use_sliding_window is true",
        )),
    }
}

pub(super) fn write_window(window: Option<SlidingWindow>, object: &mut Value) {
    object["use_sliding_window"] = window.is_some().into();
    if let Some(SlidingWindow { tokens, first_block, .. }) = window {
        object["sliding_window"] = tokens.into();
        object["max_window_layers"] = first_block.into();
    }
}
