//! One pre-norm residual block.

use tch::Tensor;
use trainer_core::config::LoraTarget;

use super::attention::Attention;
use super::mlp::Mlp;
use super::projection::Projection;
use super::rms_norm::RmsNorm;
use super::rope::Angles;

/// `x + attention(norm(x))`, then `x + mlp(norm(x))`.
#[derive(Debug)]
pub(super) struct Block {
    pub(super) attention_norm: RmsNorm,
    pub(super) attention: Attention,
    pub(super) mlp_norm: RmsNorm,
    pub(super) mlp: Mlp,
}

impl Block {
    /// `[rows, len, hidden]` to the same; `attend` as in [`Attention::forward`].
    pub(super) fn forward(
        &self,
        x: &Tensor,
        angles: &Angles,
        attend: impl FnOnce(&Tensor, &Tensor, &Tensor) -> Tensor,
    ) -> Tensor {
        let x = x + self.attention.forward(&self.attention_norm.forward(x), angles, attend);
        &x + self.mlp.forward(&self.mlp_norm.forward(&x))
    }

    /// Parameters under their names in a checkpoint, without the `model.layers.N.` before them.
    pub(super) fn named_parameters(&self) -> Vec<(&'static str, &Tensor)> {
        let attention = &self.attention;
        let mut named = vec![
            ("self_attn.q_proj.weight", &attention.query.weight),
            ("self_attn.k_proj.weight", &attention.key.weight),
            ("self_attn.v_proj.weight", &attention.value.weight),
            ("self_attn.o_proj.weight", &attention.output.weight),
            ("mlp.gate_proj.weight", &self.mlp.gate.weight),
            ("mlp.up_proj.weight", &self.mlp.up.weight),
            ("mlp.down_proj.weight", &self.mlp.down.weight),
            ("input_layernorm.weight", &self.attention_norm.weight),
            ("post_attention_layernorm.weight", &self.mlp_norm.weight),
        ];
        let biases = [
            ("self_attn.q_proj.bias", &attention.query.bias),
            ("self_attn.k_proj.bias", &attention.key.bias),
            ("self_attn.v_proj.bias", &attention.value.bias),
            ("self_attn.o_proj.bias", &attention.output.bias),
        ];
        named.extend(biases.into_iter().filter_map(|(name, bias)| Some((name, bias.as_ref()?))));
        named
    }

    /// Every tensor, corrections included.
    pub(super) fn tensors_mut(&mut self) -> impl Iterator<Item = &mut Tensor> {
        let (attention, mlp) = (&mut self.attention, &mut self.mlp);
        let projections = [
            &mut attention.query,
            &mut attention.key,
            &mut attention.value,
            &mut attention.output,
            &mut mlp.gate,
            &mut mlp.up,
            &mut mlp.down,
        ];
        let norms = [&mut self.attention_norm.weight, &mut self.mlp_norm.weight];
        projections.into_iter().flat_map(Projection::tensors_mut).chain(norms)
    }

    /// A projection.
    pub(super) fn projection(&self, target: LoraTarget) -> &Projection {
        let (attention, mlp) = (&self.attention, &self.mlp);
        match target {
            LoraTarget::QProj => &attention.query,
            LoraTarget::KProj => &attention.key,
            LoraTarget::VProj => &attention.value,
            LoraTarget::OProj => &attention.output,
            LoraTarget::GateProj => &mlp.gate,
            LoraTarget::UpProj => &mlp.up,
            LoraTarget::DownProj => &mlp.down,
        }
    }

    /// A projection, to be changed.
    pub(super) fn projection_mut(&mut self, target: LoraTarget) -> &mut Projection {
        let (attention, mlp) = (&mut self.attention, &mut self.mlp);
        match target {
            LoraTarget::QProj => &mut attention.query,
            LoraTarget::KProj => &mut attention.key,
            LoraTarget::VProj => &mut attention.value,
            LoraTarget::OProj => &mut attention.output,
            LoraTarget::GateProj => &mut mlp.gate,
            LoraTarget::UpProj => &mut mlp.up,
            LoraTarget::DownProj => &mut mlp.down,
        }
    }

    /// The same block without corrections, over the same memory.
    pub(super) fn base(&self) -> Self {
        let Attention { query, key, value, output, head_dim } = &self.attention;
        Self {
            attention_norm: self.attention_norm.shallow_clone(),
            attention: Attention {
                query: query.base(),
                key: key.base(),
                value: value.base(),
                output: output.base(),
                head_dim: *head_dim,
            },
            mlp_norm: self.mlp_norm.shallow_clone(),
            mlp: Mlp {
                gate: self.mlp.gate.base(),
                up: self.mlp.up.base(),
                down: self.mlp.down.base(),
            },
        }
    }
}
