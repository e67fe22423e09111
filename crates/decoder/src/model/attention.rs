//! Grouped-query attention with rotary positions.

use tch::{Kind, Tensor};

use super::operand::Operand;
use super::projection::Projection;
use super::rope::Angles;
use crate::bf16_matmul::lacks_kernels;

/// The four projections of an attention layer.
#[derive(Debug)]
pub(super) struct Attention {
    pub(super) query: Projection,
    pub(super) key: Projection,
    pub(super) value: Projection,
    pub(super) output: Projection,
    pub(super) head_dim: i64,
}

/// Queries, keys and values of some positions, in the layout of the fused projection.
#[derive(Debug)]
pub(crate) struct Heads {
    /// `[rows, len, queries + keys + values, head_dim]`, query heads first.
    pub(super) all: Tensor,
    /// Numbers of query, key and value heads.
    pub(super) counts: [i64; 3],
}

impl Attention {
    /// Projects `x`, `[rows, len, hidden]`, to queries, keys and values.
    pub(super) fn heads(&self, x: &Operand) -> Heads {
        let three = [&self.query, &self.key, &self.value];
        let counts = three.map(|own| own.weight.size()[0] / self.head_dim);
        let all = Projection::forward_all(&three, x).unflatten(-1, [-1, self.head_dim]);
        Heads { all, counts }
    }
}

impl Heads {
    /// Applies attention; the result, `[rows, len, heads · head_dim]`, is the input of the output projection.
    ///
    /// `attend` maps rotated queries `[rows, heads, len, head_dim]` and keys and values `[rows, kv_heads, len, head_dim]` to a mix of the
    /// values, in the shape of the queries.
    pub(crate) fn mix(
        &self,
        angles: &Angles,
        attend: impl FnOnce(&Tensor, &Tensor, &Tensor) -> Tensor,
    ) -> Tensor {
        let [queries, keys, _] = self.counts;
        let turned = angles.rotate(&self.all, queries + keys).transpose(1, 2);
        // One split, so that autograd concatenates the gradients of the three once.
        let three = turned.split_with_sizes(self.counts, 1);
        let [query, key, value] = three.try_into().expect("as many parts as sizes");
        by_position(&attend(&query, &key, &value))
    }
}

/// Concatenates the heads of each position: `[rows, heads, len, head_dim]` to `[rows, len, heads · head_dim]`.
pub(crate) fn by_position(mixed: &Tensor) -> Tensor {
    mixed.transpose(1, 2).flatten(2, 3)
}

/// Causal attention: each position attends to itself and those before it; scores are scaled by `1 / sqrt(head_dim)`.
///
/// `query` is `[rows, heads, len, head_dim]`, `key` and `value` `[rows, kv_heads, len, head_dim]`.
pub fn causal_attention(query: &Tensor, key: &Tensor, value: &Tensor) -> Tensor {
    let attend = |query: &Tensor, key: &Tensor, value: &Tensor| {
        Tensor::scaled_dot_product_attention(
            query,
            key,
            value,
            None::<&Tensor>,
            0.0,
            true,
            None,
            true,
        )
    };
    if !lacks_kernels(query) {
        return attend(query, key, value);
    }
    let [wide_query, wide_key, wide_value] = [query, key, value].map(|x| x.to_kind(Kind::Float));
    attend(&wide_query, &wide_key, &wide_value).to_kind(query.kind())
}
