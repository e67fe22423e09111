//! Qwen3 with a mixture of experts: the attention of the dense models, and experts in all blocks unless the file says otherwise.

use serde_json::Value;

use super::description::{AttentionOptions, Description, ExpertFields};
use super::llama;
use crate::model_config::experts::ExpertOptions;
use crate::model_config::fields::{Fields, Read, count};

pub(super) const DESCRIPTION: Description = Description {
    class_name: "Qwen3MoeForCausalLM",
    model_type: "qwen3_moe",
    attention: AttentionOptions::WITH_HEAD_NORMS,
    read: |fields| {
        fields.only("use_sliding_window", &false.into())?;
        AttentionOptions::WITH_HEAD_NORMS.with_biases(fields)
    },
    write: |attention, object| object["attention_bias"] = attention.output_bias.into(),
    experts: Some(ExpertFields { read: read_experts, write: write_experts }),
    ..llama::DESCRIPTION
};

/// Reads the fields of the experts; `router_aux_loss_coef` is for pretraining and not used.
fn read_experts(fields: &Fields<'_>) -> Read<ExpertOptions> {
    let dense = fields
        .present("mlp_only_layers")
        .map_or(Some(Vec::new()), |value| value.as_array()?.iter().map(count).collect());
    Ok(ExpertOptions {
        // Newer files have the second name.
        count: fields.count_or("num_experts", fields.count_or("num_local_experts", 128)?)?,
        per_token: fields.count_or("num_experts_per_tok", 8)?,
        intermediate_size: fields.count_or("moe_intermediate_size", 768)?,
        normalised: fields.flag("norm_topk_prob", false)?,
        block_step: fields.count_or("decoder_sparse_step", 1)?,
        dense_blocks: dense
            .ok_or_else(|| fields.fault("mlp_only_layers", "a list of whole numbers"))?,
    })
}

fn write_experts(experts: &ExpertOptions, object: &mut Value) {
    object["num_experts"] = experts.count.into();
    object["num_experts_per_tok"] = experts.per_token.into();
    object["moe_intermediate_size"] = experts.intermediate_size.into();
    object["norm_topk_prob"] = experts.normalised.into();
    object["decoder_sparse_step"] = experts.block_step.into();
    object["mlp_only_layers"] = experts.dense_blocks.clone().into();
}
