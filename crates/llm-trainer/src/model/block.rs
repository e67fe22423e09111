//! One pre-norm residual block.

use tch::Tensor;

use super::attention::Attention;
use super::mlp::Mlp;
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
            ("mlp.gate_proj.weight", &self.mlp.gate),
            ("mlp.up_proj.weight", &self.mlp.up),
            ("mlp.down_proj.weight", &self.mlp.down),
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
}
