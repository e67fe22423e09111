//! Mistral: no biases, and a sliding window in every block unless the file says null.

use serde_json::Value;

use super::description::{AttentionOptions, Description, SlidingWindow};
use super::llama;

pub(super) const DESCRIPTION: Description = Description {
    class_name: "MistralForCausalLM",
    model_type: "mistral",
    read: |fields| {
        fields.only("layer_types", &Value::Null)?;
        let tokens = fields.count_or_null("sliding_window", 4096)?;
        let sliding_window = tokens.map(|tokens| SlidingWindow::from_block(0, tokens));
        Ok(AttentionOptions { sliding_window, ..AttentionOptions::PLAIN })
    },
    write: |attention, object| {
        object["sliding_window"] = attention.sliding_window.map(|window| window.tokens).into();
    },
    ..llama::DESCRIPTION
};
