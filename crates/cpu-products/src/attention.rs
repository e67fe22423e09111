//! Attention of one new token per row over the row's KV cache.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use rl_losses::Real;

use crate::matrix::{Block, MultiplyRows, multiply_rows};

/// Keys and values of the tokens that one sequence has read: its KV cache.
#[derive(Debug, Clone, Default)]
pub struct KeyValueCache {
    /// Keys, `[tokens, head_dim]` of each block's key heads, one block after another.
    pub keys: Vec<Vec<f32>>,
    /// Values, laid out as the keys.
    pub values: Vec<Vec<f32>>,
    /// Tokens read.
    pub tokens: usize,
}

impl KeyValueCache {
    /// Reserves room for `tokens` tokens in all.
    pub fn reserve(&mut self, tokens: usize) {
        for numbers in self.keys.iter_mut().chain(&mut self.values) {
            let width = numbers.len() / self.tokens.max(1);
            numbers.reserve_exact(tokens.saturating_sub(self.tokens) * width);
        }
    }
}

/// Smallest number of products worth waking a thread for.
const WORTH_A_THREAD: usize = 1 << 16;

/// The heads of a model.
#[derive(Debug, Clone, Copy)]
pub struct Heads {
    /// Query heads.
    pub queries: usize,
    /// Key heads; there are as many value heads.
    pub keys: usize,
    /// Numbers of one head: `head_dim`.
    pub width: usize,
}

impl Heads {
    /// Returns each row's attention output in block `block`, over its last `window` tokens if there is a window; `query` and the result
    /// are `[rows, queries · width]`.
    pub fn attend(
        self,
        arch: Arch,
        block: usize,
        query: &[f32],
        rows: &[&KeyValueCache],
        window: Option<usize>,
    ) -> Vec<f32> {
        let group = self.queries / self.keys * self.width;
        let mut mixed = vec![0.0; query.len()];
        let run = |(index, mixed): (usize, &mut [f32])| {
            let (memory, head) = (rows[index / self.keys], block * self.keys + index % self.keys);
            let hidden = window.map_or(0, |window| memory.tokens.saturating_sub(window));
            arch.dispatch(Group {
                width: self.width,
                query: &query[index * group..][..group],
                keys: &memory.keys[head][hidden * self.width..],
                values: &memory.values[head][hidden * self.width..],
                mixed,
            });
        };
        let tokens: usize = rows.iter().map(|memory| memory.tokens).sum();
        if tokens * self.queries * self.width < WORTH_A_THREAD {
            mixed.chunks_exact_mut(group).enumerate().for_each(run);
        } else {
            mixed.par_chunks_exact_mut(group).enumerate().for_each(run);
        }
        mixed
    }
}

/// The query heads that share one key head, in one row.
struct Group<'a> {
    width: usize,
    /// `[heads, width]`.
    query: &'a [f32],
    /// `[tokens, width]`.
    keys: &'a [f32],
    /// `[tokens, width]`.
    values: &'a [f32],
    /// `[heads, width]`, zeros.
    mixed: &'a mut [f32],
}

impl WithSimd for Group<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { width, query, keys, values, mixed } = self;
        let heads = query.len() / width;
        // `[tokens, heads]`.
        let mut weights = vec![0.0_f32; keys.len() / width * heads];
        let product = &mut weights;
        Block { weights: keys, first: 0, inputs: query, width, product }.with_simd(simd);
        let totals = exponentials(&mut weights, heads, width);
        let mut mix = Mix { weights: &weights, heads, values, width, mixed };
        multiply_rows(simd, heads, &mut mix);
        let mixed = mix.mixed;
        for (mixed, total) in mixed.chunks_exact_mut(width).zip(totals) {
            for value in mixed {
                *value /= total;
            }
        }
    }
}

/// Turns products of queries and keys, `[tokens, heads]`, into `exp((product - largest of the head) / sqrt(width))`.
///
/// Returns the sums over the tokens, `[heads]`.
#[inline(always)]
fn exponentials(products: &mut [f32], heads: usize, width: usize) -> Vec<f32> {
    #[expect(clippy::cast_precision_loss, reason = "the width of a head is a few hundred")]
    let scale = 1.0 / (width as f32).sqrt();
    let mut largest = vec![f32::NEG_INFINITY; heads];
    for token in products.chunks_exact(heads) {
        for (largest, product) in largest.iter_mut().zip(token) {
            *largest = largest.max(*product);
        }
    }
    for token in products.chunks_exact_mut(heads) {
        for (product, largest) in token.iter_mut().zip(&largest) {
            *product = (*product - largest) * scale;
        }
    }
    // One loop over all numbers, which the compiler vectorises.
    for product in &mut *products {
        *product = Real::exp(*product);
    }
    let mut totals = vec![0.0; heads];
    for token in products.chunks_exact(heads) {
        for (total, weight) in totals.iter_mut().zip(token) {
            *total += weight;
        }
    }
    totals
}

/// Sums of values, weighted by each head's weights.
struct Mix<'a> {
    /// `[tokens, heads]`.
    weights: &'a [f32],
    heads: usize,
    /// `[tokens, width]`.
    values: &'a [f32],
    width: usize,
    /// `[heads, width]`, zeros.
    mixed: &'a mut [f32],
}

impl MultiplyRows for Mix<'_> {
    #[inline(always)]
    fn multiply<S: Simd, const X: usize>(&mut self, simd: S, _: usize, first: usize) {
        let vectors = self.width / S::F32_LANES;
        let mut from = 0;
        while from + 4 <= vectors {
            self.columns::<S, X, 4>(simd, first, from);
            from += 4;
        }
        while from + 2 <= vectors {
            self.columns::<S, X, 2>(simd, first, from);
            from += 2;
        }
        if from < vectors {
            self.columns::<S, X, 1>(simd, first, from);
        }
        for column in vectors * S::F32_LANES..self.width {
            let tokens = self.weights.chunks_exact(self.heads);
            for (weights, value) in tokens.zip(self.values.chunks_exact(self.width)) {
                let outputs = self.mixed.chunks_exact_mut(self.width).zip(weights);
                for (mixed, weight) in outputs.skip(first).take(X) {
                    mixed[column] += weight * value[column];
                }
            }
        }
    }
}

impl Mix<'_> {
    /// Computes `V` vectors of each of `X` heads; their sums stay in registers over all tokens.
    #[inline(always)]
    fn columns<S: Simd, const X: usize, const V: usize>(
        &mut self,
        simd: S,
        first: usize,
        from: usize,
    ) {
        let mut sums = [[simd.splat_f32s(0.0); V]; X];
        let tokens = self.weights.chunks_exact(self.heads);
        for (weights, value) in tokens.zip(self.values.chunks_exact(self.width)) {
            let value = &S::as_simd_f32s(value).0[from..from + V];
            for (weight, sums) in weights[first..first + X].iter().zip(&mut sums) {
                let weight = simd.splat_f32s(*weight);
                for (sum, value) in sums.iter_mut().zip(value) {
                    *sum = simd.mul_add_f32s(weight, *value, *sum);
                }
            }
        }
        let mixed = self.mixed.chunks_exact_mut(self.width).skip(first);
        for (mixed, sums) in mixed.zip(&sums) {
            S::as_mut_simd_f32s(mixed).0[from..from + V].copy_from_slice(sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `count` numbers that do not repeat.
    fn wave(count: usize, step: f32) -> Vec<f32> {
        (0..count).map(|place| (place as f32 * step).sin()).collect()
    }

    /// Attention of one head by its definition, in f64.
    fn by_definition(query: &[f32], keys: &[f32], values: &[f32], width: usize) -> Vec<f64> {
        let score = |key: &[f32]| {
            let products = query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k));
            (products.sum::<f64>() / (width as f64).sqrt()).exp()
        };
        let weights: Vec<f64> = keys.chunks(width).map(score).collect();
        let total: f64 = weights.iter().sum();
        let mixed = |column: usize| {
            let numbers = values.iter().skip(column).step_by(width);
            weights.iter().zip(numbers).map(|(w, value)| w * f64::from(*value)).sum::<f64>() / total
        };
        (0..width).map(mixed).collect()
    }

    /// Widths that fill vectors and that do not, groups of heads that fill a tile and that do not.
    #[test]
    fn values_are_mixed_by_the_softmax_of_the_products() {
        for (width, group, kv_heads, tokens) in [
            (64, 3, 2, 70),
            (128, 7, 1, 33),
            (16, 4, 2, 5),
            (72, 5, 1, 18),
            (20, 2, 1, 9),
            (6, 1, 3, 2),
            (64, 8, 1, 1),
        ] {
            let heads = Heads { queries: group * kv_heads, keys: kv_heads, width };
            let memory = |step: f32| {
                let per_head = |step: f32| -> Vec<Vec<f32>> {
                    (0..kv_heads)
                        .map(|head| wave(tokens * width, step + head as f32 / 10.0))
                        .collect()
                };
                KeyValueCache { keys: per_head(step), values: per_head(step / 3.0), tokens }
            };
            let rows = [memory(0.7), memory(1.3)];
            let query: Vec<f32> = wave(2 * heads.queries * width, 0.31)
                .into_iter()
                .map(|number| 3.0 * number)
                .collect();
            for window in [tokens, tokens.div_ceil(2)] {
                let limit = (window < tokens).then_some(window);
                let mixed = heads.attend(Arch::new(), 0, &query, &rows.each_ref(), limit);
                let by_head = query.chunks(width).zip(mixed.chunks(width)).enumerate();
                for (index, (query, mixed)) in by_head {
                    let (row, head) = (&rows[index / heads.queries], index % heads.queries / group);
                    let [keys, values] =
                        [&row.keys, &row.values].map(|all| &all[head][(tokens - window) * width..]);
                    let expected = by_definition(query, keys, values, width);
                    for (value, expected) in mixed.iter().zip(expected) {
                        assert!(
                            (f64::from(*value) - expected).abs() < 2e-6,
                            "{width} × {group} × {tokens}: {value} {expected}"
                        );
                    }
                }
            }
        }
    }
}
