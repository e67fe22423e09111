//! Grouped-query attention with rotary positions.

use tch::{Kind, Tensor};

use super::operand::Operand;
use super::projection::Projection;
use super::rms_norm::RmsNorm;
use super::rope::Angles;
use crate::bf16_matmul::lacks_kernels;

/// Fewest queries that attend at a time where a window is shorter than the sequence.
const SMALLEST_PART: i64 = 1024;

/// The four projections of an attention layer.
#[derive(Debug)]
pub(crate) struct Attention {
    pub(crate) query: Projection,
    pub(crate) key: Projection,
    pub(crate) value: Projection,
    pub(crate) output: Projection,
    /// Norms of a head's queries and keys, `[head_dim]`, if the model has them.
    pub(crate) head_norms: Option<[RmsNorm; 2]>,
    pub(super) head_dim: i64,
    /// Tokens that a token attends to, itself included; `None` for all.
    pub(super) window: Option<i64>,
}

/// Queries, keys and values of some positions, in the layout of the fused projection.
#[derive(Debug)]
pub(crate) struct Heads {
    /// `[rows, len, queries + keys + values, head_dim]`, query heads first.
    pub(super) all: Tensor,
    /// Numbers of query, key and value heads.
    pub(super) counts: [i64; 3],
    /// See [`Attention::window`].
    pub(crate) window: Option<i64>,
}

impl Attention {
    /// Projects `x`, `[rows, len, hidden]`, to queries, keys and values.
    pub(super) fn heads(&self, x: &Operand) -> Heads {
        let three = [&self.query, &self.key, &self.value];
        let counts = three.map(|own| own.weight.size()[0] / self.head_dim);
        let all = Projection::forward_all(&three, x).unflatten(-1, [-1, self.head_dim]);
        let all = match &self.head_norms {
            None => all,
            Some([of_query, of_key]) => {
                let [query, key, value] = split(&all, counts, 2);
                Tensor::cat(&[of_query.forward(&query), of_key.forward(&key), value], 2)
            }
        };
        Heads { all, counts, window: self.window }
    }
}

impl Heads {
    /// Applies attention; the result, `[rows, len, heads · head_dim]`, is the input of the output projection.
    ///
    /// `attend` maps rotated queries `[rows, heads, len, head_dim]` and keys and values `[rows, kv_heads, len, head_dim]`, with the block's
    /// window, to a mix of the values, in the shape of the queries.
    pub(crate) fn mix(
        &self,
        angles: &Angles,
        attend: impl FnOnce([&Tensor; 3], Option<i64>) -> Tensor,
    ) -> Tensor {
        let [queries, keys, _] = self.counts;
        let turned = angles.rotate(&self.all, queries + keys, self.window).transpose(1, 2);
        by_position(&attend(split(&turned, self.counts, 1).each_ref(), self.window))
    }
}

/// Splits once, so that autograd concatenates the gradients of the three once.
fn split(all: &Tensor, counts: [i64; 3], dimension: i64) -> [Tensor; 3] {
    let three = all.split_with_sizes(counts, dimension);
    three.try_into().expect("as many parts as sizes")
}

/// Concatenates the heads of each position: `[rows, heads, len, head_dim]` to `[rows, len, heads · head_dim]`.
pub(crate) fn by_position(mixed: &Tensor) -> Tensor {
    mixed.transpose(1, 2).flatten(2, 3)
}

/// Causal attention: each position attends to itself and those before it, at most `window` of them; scores are scaled by
/// `1 / sqrt(head_dim)`.
///
/// The query is `[rows, heads, len, head_dim]`, key and value are `[rows, kv_heads, len, head_dim]`.
pub fn causal_attention(three: [&Tensor; 3], window: Option<i64>) -> Tensor {
    let length = three[0].size()[2];
    match window.filter(|&window| window < length) {
        None => attend(three, None),
        Some(window) => windowed(three, window, window.max(SMALLEST_PART)),
    }
}

/// Attends where `mask` is true; without one, causally.
fn attend(three: [&Tensor; 3], mask: Option<&Tensor>) -> Tensor {
    let attend = |[query, key, value]: [&Tensor; 3]| {
        let causal = mask.is_none();
        Tensor::scaled_dot_product_attention(query, key, value, mask, 0.0, causal, None, true)
    };
    if !lacks_kernels(three[0]) {
        return attend(three);
    }
    let wide = three.map(|x| x.to_kind(Kind::Float));
    attend(wide.each_ref()).to_kind(three[0].kind())
}

/// Attends with `part` queries at a time, over the keys that they reach: no mask is `[len, len]`.
fn windowed([query, key, value]: [&Tensor; 3], window: i64, part: i64) -> Tensor {
    let (length, groups) = (query.size()[2], query.size()[1] / key.size()[1]);
    // Kernels that take a mask take no heads that share keys.
    let [key, value] = [key, value].map(|x| x.repeat_interleave_self_int(groups, 1, None));
    let positions = Tensor::arange(length, (Kind::Int64, query.device()));
    let parts = (0..length).step_by(usize::try_from(part).expect("at least 1")).map(|start| {
        let first = (start - window + 1).max(0);
        let (count, end) = (part.min(length - start), (start + part).min(length));
        let reached = |x: &Tensor, dimension| x.narrow(dimension, first, end - first);
        let back = positions.narrow(0, start, count).unsqueeze(1) - reached(&positions, 0);
        let mask = back.ge(0).logical_and(&back.lt(window));
        let query = query.narrow(2, start, count);
        attend([&query, &reached(&key, 2), &reached(&value, 2)], Some(&mask))
    });
    Tensor::cat(&parts.collect::<Vec<_>>(), 2)
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::*;
    use crate::kernel_self_test::{largest_off, value_and_gradients, wide_wave};

    /// Compares values and gradients with scores that are masked in full, whatever the parts.
    #[test]
    fn a_window_hides_what_is_further_back() {
        let wave = |heads: i64, step: f64| {
            (wide_wave(&[2, heads, 11, 4], step) * 2).set_requires_grad(true)
        };
        let inputs = [wave(6, 0.3), wave(2, 0.7), wave(2, 1.1)];
        let three = inputs.each_ref();
        let cotangent = wave(6, 0.2).detach();
        let with_gradients = |mixed: Tensor| value_and_gradients(&mixed, &cotangent, &three);
        let plain = |window: i64| {
            let [query, key, value] = three;
            let [key, value] = [key, value].map(|x| x.repeat_interleave_self_int(3, 1, None));
            let all = Tensor::ones([11, 11], (Kind::Bool, Device::Cpu));
            let seen = all.tril(0).logical_and(&all.triu(1 - window));
            let scores = query.matmul(&key.transpose(2, 3)) / 2.0;
            let weights = scores.masked_fill(&seen.logical_not(), f64::NEG_INFINITY);
            weights.softmax(-1, Kind::Double).matmul(&value)
        };
        for window in [1, 3, 10, 11, 40] {
            let exact = with_gradients(plain(window));
            let parts = [1, 4, 11, 20].map(|part| windowed(three, window, part));
            for mixed in parts.into_iter().chain([causal_attention(three, Some(window))]) {
                for (computed, exact) in with_gradients(mixed).iter().zip(&exact) {
                    assert!(largest_off(computed, exact) < 1e-13, "{window}");
                }
            }
        }
        assert!(causal_attention(three, Some(11)).equal(&causal_attention(three, None)));
    }
}
