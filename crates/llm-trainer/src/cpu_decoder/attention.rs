//! Attention of one new token a row over what the row has read.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

/// Keys and values of one sequence.
#[derive(Debug, Clone, Default)]
pub(super) struct Memory {
    /// `[tokens, head_dim]` of each block's key heads, one block after another.
    pub(super) keys: Vec<Vec<f32>>,
    /// The same of the values.
    pub(super) values: Vec<Vec<f32>>,
    /// Tokens read.
    pub(super) tokens: usize,
}

/// Fewer products than this are not worth waking a thread for.
const WORTH_A_THREAD: usize = 1 << 16;

/// The heads of a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Heads {
    pub(super) queries: usize,
    pub(super) keys: usize,
    pub(super) width: usize,
}

impl Heads {
    /// Mixes the values of block `block` for each row: `query` and the answer are `[rows, queries · width]`.
    pub(super) fn attend(
        self,
        arch: Arch,
        block: usize,
        query: &[f32],
        rows: &[&Memory],
    ) -> Vec<f32> {
        let group = self.queries / self.keys * self.width;
        let mut mixed = vec![0.0; query.len()];
        let run = |(index, mixed): (usize, &mut [f32])| {
            let (memory, head) = (rows[index / self.keys], block * self.keys + index % self.keys);
            arch.dispatch(Group {
                width: self.width,
                query: &query[index * group..][..group],
                keys: &memory.keys[head],
                values: &memory.values[head],
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
        #[expect(clippy::cast_precision_loss, reason = "the width of a head is a few hundred")]
        let scale = 1.0 / (width as f32).sqrt();
        let mut scores = vec![0.0_f32; keys.len() / width];
        for (query, mixed) in query.chunks_exact(width).zip(mixed.chunks_exact_mut(width)) {
            let mut largest = f32::NEG_INFINITY;
            for (score, key) in scores.iter_mut().zip(keys.chunks_exact(width)) {
                *score = dot(simd, query, key) * scale;
                largest = largest.max(*score);
            }
            let mut total = 0.0;
            for (score, value) in scores.iter().zip(values.chunks_exact(width)) {
                let weight = (score - largest).exp();
                total += weight;
                add_scaled(simd, weight, value, mixed);
            }
            for value in mixed {
                *value /= total;
            }
        }
    }
}

#[inline(always)]
fn dot<S: Simd>(simd: S, left: &[f32], right: &[f32]) -> f32 {
    let ((left, left_rest), (right, right_rest)) = (S::as_simd_f32s(left), S::as_simd_f32s(right));
    let mut sum = simd.splat_f32s(0.0);
    for (left, right) in left.iter().zip(right) {
        sum = simd.mul_add_f32s(*left, *right, sum);
    }
    let rest: f32 = left_rest.iter().zip(right_rest).map(|(left, right)| left * right).sum();
    simd.reduce_sum_f32s(sum) + rest
}

#[inline(always)]
fn add_scaled<S: Simd>(simd: S, factor: f32, values: &[f32], sums: &mut [f32]) {
    let (values, values_rest) = S::as_simd_f32s(values);
    let (sums, sums_rest) = S::as_mut_simd_f32s(sums);
    let factors = simd.splat_f32s(factor);
    for (value, sum) in values.iter().zip(sums) {
        *sum = simd.mul_add_f32s(factors, *value, *sum);
    }
    for (value, sum) in values_rest.iter().zip(sums_rest) {
        *sum += factor * value;
    }
}
