//! Dot products of a few weights with a few inputs, as vectors.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use std::hint::black_box;

use pulp::{Simd, WithSimd};
use torch_ext::prefetch;

/// Numbers of bf16 that are packed together.
pub(super) const GROUP: usize = 64;

/// Words of two bf16 in a group.
pub(super) const WORDS: usize = GROUP / 2;

/// Rows of weights that a tile multiplies at once.
pub(super) const WEIGHT_ROWS: usize = 4;

/// Bytes of weights to prefetch ahead of those in use.
const AHEAD: usize = 8 << 10;

/// Bytes of a cache line.
pub(super) const LINE: usize = 64;

/// How weights lie in memory.
pub(crate) trait Stored: Copy + Sync {
    /// Inputs that one stored number is multiplied with: 2 for a word of two bf16.
    const INPUTS: usize;

    /// Dot products of `W` consecutive rows of weights with `X` inputs, all of one length: for bf16 a multiple of
    /// [`GROUP`]. `is_first`: this is the first use of these weights, so the next ones are prefetched.
    fn tile<S: Simd, const W: usize, const X: usize>(
        simd: S,
        weights: [&[Self]; W],
        inputs: [&[f32]; X],
        is_first: bool,
    ) -> [[f32; X]; W];
}

impl Stored for f32 {
    const INPUTS: usize = 1;

    #[inline(always)]
    fn tile<S: Simd, const W: usize, const X: usize>(
        simd: S,
        weights: [&[Self]; W],
        inputs: [&[f32]; X],
        is_first: bool,
    ) -> [[f32; X]; W] {
        let start = weights[0];
        let places = start.len() / S::F32_LANES;
        // All of one length, so that no bounds are checked inside the loop.
        let (mut rows, mut columns) = ([[].as_slice(); W], [[].as_slice(); X]);
        for (row, weight) in rows.iter_mut().zip(weights) {
            *row = &S::as_simd_f32s(weight).0[..places];
        }
        for (column, input) in columns.iter_mut().zip(inputs) {
            *column = &S::as_simd_f32s(input).0[..places];
        }
        let mut sums = [[simd.splat_f32s(0.0); X]; W];
        for place in 0..places {
            if is_first {
                fetch(start, place, W, S::F32_LANES);
            }
            let mut x = [simd.splat_f32s(0.0); X];
            for (x, column) in x.iter_mut().zip(&columns) {
                *x = column[place];
            }
            for (row, sums) in rows.iter().zip(&mut sums) {
                let weight = row[place];
                for (x, sum) in x.iter().zip(sums) {
                    *sum = simd.mul_add_f32s(weight, *x, *sum);
                }
            }
        }
        let mut totals = totals(simd, &sums);
        if places * S::F32_LANES < start.len() {
            for (weight, totals) in weights.iter().zip(&mut totals) {
                for (input, total) in inputs.iter().zip(totals) {
                    let rest = weight.iter().zip(*input).skip(places * S::F32_LANES);
                    *total += rest.map(|(weight, input)| weight * input).sum::<f32>();
                }
            }
        }
        totals
    }
}

/// Two bf16 a word; inputs with their even places first.
impl Stored for i32 {
    const INPUTS: usize = 2;

    #[inline(always)]
    fn tile<S: Simd, const W: usize, const X: usize>(
        simd: S,
        weights: [&[Self]; W],
        inputs: [&[f32]; X],
        is_first: bool,
    ) -> [[f32; X]; W] {
        let start = weights[0];
        let weights = weights.map(|weight| weight.as_chunks::<WORDS>().0);
        let inputs = Halves::new(inputs);
        let mask = UpperHalf::new();
        let mut sums = [[simd.splat_f32s(0.0); X]; W];
        for group in 0..weights[0].len() {
            if is_first {
                fetch(start, group, W, WORDS);
            }
            let inputs = inputs.of_group(group);
            for (weights, sums) in weights.iter().zip(&mut sums) {
                add_words(simd, mask, &weights[group], &inputs, sums);
            }
        }
        totals(simd, &sums)
    }
}

/// Inputs with their even places first, group by group.
#[derive(Clone, Copy)]
pub(super) struct Halves<'a, const X: usize>([[&'a [[f32; WORDS]]; 2]; X]);

impl<'a, const X: usize> Halves<'a, X> {
    /// Splits inputs `[2 · groups · WORDS]`, even places first, into groups.
    #[inline(always)]
    pub(super) fn new(inputs: [&'a [f32]; X]) -> Self {
        let mut halves = [[[].as_slice(); 2]; X];
        for (halves, input) in halves.iter_mut().zip(inputs) {
            let (even, odd) = input.split_at(input.len() / 2);
            *halves = [even.as_chunks().0, odd.as_chunks().0];
        }
        Self(halves)
    }

    /// The even and the odd places of a group.
    #[inline(always)]
    pub(super) fn of_group(&self, group: usize) -> [[&'a [f32; WORDS]; 2]; X] {
        let mut places = [[&[0.0; WORDS]; 2]; X];
        for (places, [even, odd]) in places.iter_mut().zip(self.0) {
            *places = [&even[group], &odd[group]];
        }
        places
    }
}

/// Mask that leaves the second bf16 of a word.
#[derive(Debug, Clone, Copy)]
pub(super) struct UpperHalf(u32);

impl UpperHalf {
    /// Hides the mask from the compiler. It would otherwise blend with zeros, which only the processor's busiest units in these
    /// loops can do.
    #[inline(always)]
    pub(super) fn new() -> Self {
        Self(black_box(0xffff_0000))
    }
}

/// Adds to each sum the products of `words`, two bf16 each, with an input's even and odd places of the group.
#[inline(always)]
pub(super) fn add_words<S: Simd, const X: usize>(
    simd: S,
    mask: UpperHalf,
    words: &[i32; WORDS],
    inputs: &[[&[f32; WORDS]; 2]; X],
    sums: &mut [S::f32s; X],
) {
    let words = S::as_simd_i32s(words).0;
    for ([even, odd], sum) in inputs.iter().zip(sums) {
        let (even, odd) = (S::as_simd_f32s(*even).0, S::as_simd_f32s(*odd).0);
        let mut total = *sum;
        for ((word, even), odd) in words.iter().zip(even).zip(odd) {
            let [first, second] = pair(simd, mask, *word);
            total = simd.mul_add_f32s(first, *even, total);
            total = simd.mul_add_f32s(second, *odd, total);
        }
        *sum = total;
    }
}

/// The two bf16 of each word, in f32.
#[inline(always)]
fn pair<S: Simd>(simd: S, UpperHalf(mask): UpperHalf, words: S::i32s) -> [S::f32s; 2] {
    let words = simd.transmute_u32s_i32s(words);
    let first = simd.wrapping_dyn_shl_u32s(words, simd.splat_u32s(16));
    let second = simd.and_u32s(words, simd.splat_u32s(mask));
    [simd.transmute_f32s_u32s(first), simd.transmute_f32s_u32s(second)]
}

/// Sums each vector. A loop, because closures of `array::map` are not compiled with their caller's instructions.
#[inline(always)]
fn totals<S: Simd, const W: usize, const X: usize>(
    simd: S,
    sums: &[[S::f32s; X]; W],
) -> [[f32; X]; W] {
    let mut totals = [[0.0; X]; W];
    for (totals, sums) in totals.iter_mut().zip(sums) {
        for (total, sum) in totals.iter_mut().zip(sums) {
            *total = simd.reduce_sum_f32s(*sum);
        }
    }
    totals
}

/// Prefetches weights while `rows` consecutive rows are read at `place`, `numbers` of each at once. It asks for them in the
/// order of memory, [`AHEAD`] bytes behind the place that the last row has reached.
///
/// Processors prefetch one stream of memory by themselves, but not the four short ones of a tile's rows. Without this, products
/// in bf16 run at half the memory's bandwidth.
#[inline(always)]
fn fetch<E>(first: &[E], place: usize, rows: usize, numbers: usize) {
    let ahead = AHEAD / size_of::<E>() + (rows - 1) * first.len();
    let here = place * rows * numbers..(place + 1) * rows * numbers;
    for line in here.step_by(LINE / size_of::<E>()) {
        prefetch(first, ahead + line);
    }
}

/// Some outputs of a product.
pub(crate) struct Block<'a, E> {
    /// `[outputs of the matrix, width / INPUTS]`.
    pub(crate) weights: &'a [E],
    /// Index of the block's first output.
    pub(crate) first: usize,
    /// `[rows, width]`.
    pub(crate) inputs: &'a [f32],
    pub(crate) width: usize,
    /// `[outputs of the block, rows]`.
    pub(crate) product: &'a mut [f32],
}

impl<E: Stored> WithSimd for Block<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { weights, first, inputs, width, product } = self;
        let (rows, words) = (inputs.len() / width, width / E::INPUTS);
        let weight = |output: usize| &weights[output * words..][..words];
        for (group, product) in product.chunks_mut(WEIGHT_ROWS * rows).enumerate() {
            let output = first + group * WEIGHT_ROWS;
            if product.len() < WEIGHT_ROWS * rows {
                for (product, output) in product.chunks_exact_mut(rows).zip(output..) {
                    let weights = [weight(output)];
                    multiply_rows(simd, rows, &mut Tile { weights, inputs, product });
                }
                continue;
            }
            let weights: [&[E]; WEIGHT_ROWS] = std::array::from_fn(|w| weight(output + w));
            multiply_rows(simd, rows, &mut Tile { weights, inputs, product });
        }
    }
}

/// `W` outputs of a product.
struct Tile<'a, E, const W: usize> {
    /// Consecutive rows of the matrix.
    weights: [&'a [E]; W],
    /// `[rows, width]`.
    inputs: &'a [f32],
    /// `[W, rows]`.
    product: &'a mut [f32],
}

impl<E: Stored, const W: usize> MultiplyRows for Tile<'_, E, W> {
    #[inline(always)]
    fn multiply<S: Simd, const X: usize>(&mut self, simd: S, rows: usize, row: usize) {
        let inputs = some_rows(self.inputs, rows, row);
        let sums = E::tile::<S, W, X>(simd, self.weights, inputs, row == 0);
        for (output, sums) in self.product.chunks_exact_mut(rows).zip(&sums) {
            output[row..row + X].copy_from_slice(sums);
        }
    }
}

/// Some outputs of a product with `rows` rows.
pub(crate) trait MultiplyRows {
    /// Computes the outputs of `X` rows from `row` on.
    fn multiply<S: Simd, const X: usize>(&mut self, simd: S, rows: usize, row: usize);
}

/// Computes the outputs of all rows, as many rows at once as registers allow.
#[inline(always)]
pub(crate) fn multiply_rows<S: Simd>(simd: S, rows: usize, outputs: &mut impl MultiplyRows) {
    let mut row = 0;
    if WEIGHT_ROWS * 4 < S::REGISTER_COUNT {
        while row + 4 <= rows {
            outputs.multiply::<S, 4>(simd, rows, row);
            row += 4;
        }
    } else {
        // The sums of four rows would spill to memory at each place. The last four rows are done two and two.
        while row + 3 <= rows && row + 4 != rows {
            outputs.multiply::<S, 3>(simd, rows, row);
            row += 3;
        }
    }
    while row + 2 <= rows {
        outputs.multiply::<S, 2>(simd, rows, row);
        row += 2;
    }
    if row < rows {
        outputs.multiply::<S, 1>(simd, rows, row);
    }
}

/// `X` rows from `first` on of `inputs`, `[rows, width]`.
#[inline(always)]
pub(super) fn some_rows<const X: usize>(inputs: &[f32], rows: usize, first: usize) -> [&[f32]; X] {
    let width = inputs.len() / rows;
    let mut selected = [[].as_slice(); X];
    for (selected, input) in selected.iter_mut().zip(inputs.chunks_exact(width).skip(first)) {
        *selected = input;
    }
    selected
}
