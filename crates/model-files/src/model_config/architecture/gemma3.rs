//! Gemma 3, text alone: norms around attention and MLP, and a window in all but every sixth block, with rotary frequencies of its own.

use serde_json::Value;

use super::description::{Activation, AttentionOptions, BlockOptions, Description, SlidingWindow};
use crate::model_config::fields::{Fields, Read};

pub(super) const DESCRIPTION: Description = Description {
    class_name: "Gemma3ForCausalLM",
    model_type: "gemma3_text",
    head_dim: Some(256),
    rope_theta: 1e6,
    tied: true,
    block: BlockOptions {
        activation: Activation::GeluTanh,
        norms_from_one: true,
        output_norms: true,
        scaled_embedding: true,
    },
    attention: AttentionOptions::WITH_HEAD_NORMS,
    read: |fields| {
        fields.only("attn_logit_softcapping", &Value::Null)?;
        fields.only("final_logit_softcapping", &Value::Null)?;
        fields.only("use_bidirectional_attention", &false.into())?;
        let head_dim = fields.count_or("head_dim", 256)?;
        fields.only("query_pre_attn_scalar", &head_dim.into())?;
        let attention = AttentionOptions::WITH_HEAD_NORMS.with_biases(fields)?;
        Ok(AttentionOptions { sliding_window: Some(read_window(fields)?), ..attention })
    },
    write,
    experts: None,
};

fn read_window(fields: &Fields<'_>) -> Read<SlidingWindow> {
    Ok(SlidingWindow {
        tokens: fields.count_or("sliding_window", 4096)?,
        first_block: 0,
        full_every: Some(read_pattern(fields)?),
        rope_theta: Some(match fields.rope_parameters("sliding_attention") {
            Some(inner) => inner
                .get("rope_theta")
                .and_then(Value::as_f64)
                .ok_or_else(|| fields.fault("rope_parameters", "a rope_theta of each kind"))?,
            None => fields.number_or("rope_local_base_freq", 10_000.0)?,
        }),
    })
}

/// Reads the distance of blocks that attend to all tokens. Newer files list the kind of each block, which takes precedence.
fn read_pattern(fields: &Fields<'_>) -> Read<usize> {
    let pattern = fields.count_or("sliding_window_pattern", 6)?;
    let Some(types) = fields.present("layer_types").and_then(Value::as_array) else {
        return Ok(pattern);
    };
    let first = types.iter().position(|kind| kind == "full_attention");
    let is_listed = |every: &usize| *every > 0 && *types == layer_types(types.len(), *every);
    [Some(pattern), first.map(|index| index + 1), Some(types.len() + 1)]
        .into_iter()
        .flatten()
        .find(is_listed)
        .ok_or_else(|| fields.fault("layer_types", "full_attention at equal distances"))
}

fn layer_types(blocks: usize, full_every: usize) -> Vec<Value> {
    let kind = |index: usize| {
        let is_full = (index + 1).is_multiple_of(full_every);
        Value::from(if is_full { "full_attention" } else { "sliding_attention" })
    };
    (0..blocks).map(kind).collect()
}

fn write(attention: AttentionOptions, object: &mut Value) {
    object["attention_bias"] = attention.output_bias.into();
    object["query_pre_attn_scalar"] = object["head_dim"].clone();
    let window = attention.sliding_window;
    let blocks = object["num_hidden_layers"].as_u64().and_then(|count| usize::try_from(count).ok());
    if let (Some(window), Some(blocks)) = (window, blocks) {
        object["sliding_window"] = window.tokens.into();
        object["rope_local_base_freq"] = window.rope_theta.into();
        if let Some(every) = window.full_every {
            object["sliding_window_pattern"] = every.into();
            object["layer_types"] = layer_types(blocks, every).into();
        }
    }
}
