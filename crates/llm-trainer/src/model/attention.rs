//! Grouped-query attention with rotary positions.

use tch::{Kind, Tensor};

use super::projection::Projection;
use super::rope::Angles;
use crate::product::lacks_kernels;

/// The four projections of a block's attention.
#[derive(Debug)]
pub(super) struct Attention {
    pub(super) query: Projection,
    pub(super) key: Projection,
    pub(super) value: Projection,
    pub(super) output: Projection,
    pub(super) head_dim: i64,
}

impl Attention {
    /// What the output projection is applied to, `[rows, len, heads · head_dim]`: `x` is `[rows, len, hidden]`; `attend` maps
    /// rotated queries `[rows, heads, len, head_dim]` and keys and values `[rows, kv_heads, len, head_dim]` to the mix of values,
    /// in the shape of the queries.
    pub(super) fn mix(
        &self,
        x: &Tensor,
        angles: &Angles,
        attend: impl FnOnce(&Tensor, &Tensor, &Tensor) -> Tensor,
    ) -> Tensor {
        let (rows, len) = (x.size()[0], x.size()[1]);
        let three = [&self.query, &self.key, &self.value];
        let [queries, keys, values] = three.map(|own| own.weight.size()[0] / self.head_dim);
        let all = Projection::forward_all(&three, x).view([rows, len, -1, self.head_dim]);
        let turned = angles.rotate(&all, queries + keys).transpose(1, 2);
        // By one operation, for the gradients of the parts are then put together once.
        let three = turned.split_with_sizes([queries, keys, values], 1);
        let [query, key, value] = three.try_into().expect("as many parts as sizes");
        let mixed = attend(&query, &key, &value);
        mixed.transpose(1, 2).reshape([rows, len, -1])
    }
}

/// Each position attends to itself and those before it; scores are scaled by `1 / sqrt(head_dim)`.
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
