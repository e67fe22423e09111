//! Llama 2 and 3, `SmolLM2`: no biases in attention, or four. The others name what they have otherwise.

use super::description::{AttentionOptions, BlockOptions, Description};

pub(super) const DESCRIPTION: Description = Description {
    class_name: "LlamaForCausalLM",
    model_type: "llama",
    head_dim: None,
    rope_theta: 10_000.0,
    tied: false,
    block: BlockOptions::PLAIN,
    attention: AttentionOptions::PLAIN,
    read: |fields| {
        fields.only("use_sliding_window", &false.into())?;
        AttentionOptions::PLAIN.with_biases(fields)
    },
    write: |attention, object| {
        object["attention_bias"] = attention.query_key_value_bias.into();
        object["mlp_bias"] = false.into();
    },
    experts: None,
};
