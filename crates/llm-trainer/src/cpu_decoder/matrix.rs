//! Products of a model's weights with few rows.
//!
//! Each output is one dot product with one vector of partial sums, over the inputs in order, whatever else is computed
//! beside it: a row gives the same bits alone and among others, on any number of threads.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use tch::{Kind, Tensor};
use torch_ext::{HostNumbers, prefetch};

/// Inputs are filled up with zeros to a multiple of this, so that no instruction set has a rest.
const PADDING: usize = 32;

/// Fewer products than this are not worth waking a thread for.
const WORTH_A_THREAD: usize = 1 << 16;

/// Weights whose product is taken at once.
const WEIGHT_ROWS: usize = 4;

/// Inputs whose product is taken at once, where there are so many.
const INPUT_ROWS: usize = 4;

/// Bytes of weights that are on their way from memory beside those in use.
const AHEAD: usize = 8 << 10;

/// A weight `[outputs, inputs]` in the model's own precision, where the model keeps it.
#[derive(Debug)]
pub(super) struct Matrix {
    /// The rows of one weight after another.
    parts: Vec<Part>,
    outputs: usize,
    inputs: usize,
    /// `inputs` filled up.
    width: usize,
    /// Whether the weights are of bf16.
    in_pairs: bool,
}

/// Some rows of a [`Matrix`].
#[derive(Debug)]
struct Part {
    /// `[outputs, width]`.
    numbers: HostNumbers,
    outputs: usize,
}

/// The numbers of a [`Part`].
#[derive(Debug, Clone, Copy)]
enum Numbers<'a> {
    /// `[outputs, width]`.
    F32(&'a [f32]),
    /// `[outputs, width / 2]`, two bf16 a word, the earlier in its low half.
    Bf16(&'a [i32]),
}

impl Part {
    /// Where the weight cannot be read as it lies, or has a width that is not filled up, it is copied.
    fn new(weight: &Tensor, width: usize) -> Self {
        let [outputs, inputs] = [0, 1].map(|dimension| size(weight.size()[dimension]));
        let filling = i64::try_from(width - inputs).expect("less than PADDING");
        let own = HostNumbers::of(weight).map(|numbers| Self { numbers, outputs });
        match own {
            Some(own) if filling == 0 && own.is_readable() => own,
            _ => {
                let copy = weight.contiguous().constant_pad_nd([0, filling]).copy();
                let numbers = HostNumbers::of(&copy).expect("of the kinds a decoder takes");
                Self { numbers, outputs }
            }
        }
    }

    fn is_readable(&self) -> bool {
        self.numbers.f32s().is_some() || self.numbers.bf16_pairs().is_some()
    }

    fn numbers(&self) -> Numbers<'_> {
        match (self.numbers.f32s(), self.numbers.bf16_pairs()) {
            (Some(numbers), _) => Numbers::F32(numbers),
            (None, words) => Numbers::Bf16(words.expect("`new` saw that it is readable")),
        }
    }
}

impl Matrix {
    /// The rows of several weights `[.., inputs]` of one kind, f32 or bf16, on the CPU, one after another.
    pub(super) fn new(weights: &[Tensor]) -> Self {
        let inputs = size(weights[0].size()[1]);
        let width = inputs.next_multiple_of(PADDING);
        let parts: Vec<Part> = weights.iter().map(|weight| Part::new(weight, width)).collect();
        let outputs = parts.iter().map(|part| part.outputs).sum();
        let in_pairs = weights[0].kind() == Kind::BFloat16;
        Self { parts, outputs, inputs, width, in_pairs }
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Adds row `index`, `[inputs]`, to the end of `rows`.
    pub(super) fn push_row(&self, index: usize, rows: &mut Vec<f32>) {
        let mut index = index;
        let mut parts = self.parts.iter();
        let part = parts.find(|part| {
            let here = index < part.outputs;
            index -= if here { 0 } else { part.outputs };
            here
        });
        match part.expect("an index below `outputs`").numbers() {
            Numbers::F32(numbers) => {
                rows.extend_from_slice(&numbers[index * self.width..][..self.inputs]);
            }
            Numbers::Bf16(words) => {
                let own = &words[index * self.width / 2..][..self.width / 2];
                let numbers = own
                    .iter()
                    .map(|word| word.cast_unsigned())
                    .flat_map(|word| [word << 16, word & 0xffff_0000]);
                rows.extend(numbers.take(self.inputs).map(f32::from_bits));
            }
        }
    }

    /// `x` is `[rows, inputs]`; the product is `[rows, outputs]`.
    pub(super) fn multiply(&self, arch: Arch, x: &[f32]) -> Vec<f32> {
        let inputs = self.lay_out(x);
        let rows = inputs.len() / self.width;
        // By output, so that threads write to places of their own.
        let mut product = vec![0.0; self.outputs * rows];
        let work = self.outputs * self.width * rows;
        let threads = if work < WORTH_A_THREAD { 1 } else { rayon::current_num_threads() };
        let pieces = if threads == 1 { 1 } else { 4 * threads };
        let block = self.outputs.div_ceil(pieces).next_multiple_of(WEIGHT_ROWS);
        let width = self.width;
        let mut blocks = Vec::with_capacity(pieces + self.parts.len());
        let mut rest = product.as_mut_slice();
        for part in &self.parts {
            let (own, others) = rest.split_at_mut(part.outputs * rows);
            rest = others;
            let numbers = part.numbers();
            let own = own.chunks_mut(block * rows).enumerate();
            blocks.extend(own.map(|(index, product)| (numbers, index * block, product)));
        }
        let run = |(numbers, first, product): (Numbers<'_>, usize, &mut [f32])| {
            let inputs = inputs.as_slice();
            match numbers {
                Numbers::F32(weights) => {
                    arch.dispatch(Block { weights, first, inputs, width, product });
                }
                Numbers::Bf16(weights) => {
                    arch.dispatch(Block { weights, first, inputs, width, product });
                }
            }
        };
        if threads == 1 {
            blocks.into_iter().for_each(run);
        } else {
            blocks.into_par_iter().for_each(run);
        }
        if rows == 1 { product } else { transposed(&product, rows) }
    }

    /// `[rows, width]`; for bf16 weights the even places of a row before its odd ones.
    fn lay_out(&self, x: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.inputs;
        let mut numbers = vec![0.0; rows * self.width];
        for (own, row) in numbers.chunks_exact_mut(self.width).zip(x.chunks_exact(self.inputs)) {
            if !self.in_pairs {
                own[..self.inputs].copy_from_slice(row);
                continue;
            }
            let (even, odd) = own.split_at_mut(self.width / 2);
            for ((pair, even), odd) in row.chunks(2).zip(even).zip(odd) {
                *even = pair[0];
                *odd = pair.get(1).copied().unwrap_or(0.0);
            }
        }
        numbers
    }
}

/// How weights lie in memory.
trait Stored: Copy + Sync {
    /// Inputs that one of them is multiplied with.
    const INPUTS: usize;

    /// Dot products of `W` weights, which lie one after another, with `X` inputs, all of one length, a multiple of
    /// [`PADDING`]. `FETCH`: these weights are used for the first time, so what follows them is asked for.
    fn tile<S: Simd, const W: usize, const X: usize, const FETCH: bool>(
        simd: S,
        weights: [&[Self]; W],
        inputs: [&[f32]; X],
    ) -> [[f32; X]; W];
}

impl Stored for f32 {
    const INPUTS: usize = 1;

    #[inline(always)]
    fn tile<S: Simd, const W: usize, const X: usize, const FETCH: bool>(
        simd: S,
        weights: [&[Self]; W],
        inputs: [&[f32]; X],
    ) -> [[f32; X]; W] {
        let start = weights[0];
        let weights = weights.map(|weight| S::as_simd_f32s(weight).0);
        let inputs = inputs.map(|input| S::as_simd_f32s(input).0);
        let mut sums = [[simd.splat_f32s(0.0); X]; W];
        for place in 0..weights[0].len() {
            if FETCH {
                fetch(start, place, W, S::F32_LANES);
            }
            let mut x = [simd.splat_f32s(0.0); X];
            for (x, input) in x.iter_mut().zip(&inputs) {
                *x = input[place];
            }
            for (weights, sums) in weights.iter().zip(&mut sums) {
                let weight = weights[place];
                for (x, sum) in x.iter().zip(sums) {
                    *sum = simd.mul_add_f32s(weight, *x, *sum);
                }
            }
        }
        totals(simd, &sums)
    }
}

/// Two bf16 a word; inputs with their even places first.
impl Stored for i32 {
    const INPUTS: usize = 2;

    #[inline(always)]
    fn tile<S: Simd, const W: usize, const X: usize, const FETCH: bool>(
        simd: S,
        weights: [&[Self]; W],
        inputs: [&[f32]; X],
    ) -> [[f32; X]; W] {
        let start = weights[0];
        let weights = weights.map(|weight| S::as_simd_i32s(weight).0);
        let halves = inputs.map(|input| input.split_at(input.len() / 2));
        let evens = halves.map(|(even, _)| S::as_simd_f32s(even).0);
        let odds = halves.map(|(_, odd)| S::as_simd_f32s(odd).0);
        let (sixteen, high) = (simd.splat_u32s(16), simd.splat_u32s(0xffff_0000));
        let mut sums = [[simd.splat_f32s(0.0); X]; W];
        for place in 0..weights[0].len() {
            if FETCH {
                fetch(start, place, W, S::I32_LANES);
            }
            let mut x = [[simd.splat_f32s(0.0); 2]; X];
            for ((x, even), odd) in x.iter_mut().zip(&evens).zip(&odds) {
                *x = [even[place], odd[place]];
            }
            for (weights, sums) in weights.iter().zip(&mut sums) {
                let word = simd.transmute_u32s_i32s(weights[place]);
                let first = simd.transmute_f32s_u32s(simd.wrapping_dyn_shl_u32s(word, sixteen));
                let second = simd.transmute_f32s_u32s(simd.and_u32s(word, high));
                for ([even, odd], sum) in x.iter().zip(sums) {
                    *sum = simd.mul_add_f32s(first, *even, *sum);
                    *sum = simd.mul_add_f32s(second, *odd, *sum);
                }
            }
        }
        totals(simd, &sums)
    }
}

/// The sum of each vector. A loop, for the closures of `array::map` do not take on the instructions of their caller.
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

/// Asks for what is read some time after place `place` of `rows` rows that lie one after another, in the order in which it
/// lies: [`AHEAD`] behind what the last of the rows has reached.
///
/// Processors see for themselves where one stream of memory goes on, but not four short ones at once, as the rows of a tile
/// are: without this, products in bf16 run at half the memory's bandwidth.
#[inline(always)]
fn fetch<E>(first: &[E], place: usize, rows: usize, lanes: usize) {
    let ahead = AHEAD / size_of::<E>() + (rows - 1) * first.len();
    for vector in place * rows..(place + 1) * rows {
        prefetch(first, ahead + vector * lanes);
    }
}

/// Some outputs of a product.
struct Block<'a, E> {
    /// `[outputs of the matrix, width / INPUTS]`.
    weights: &'a [E],
    /// The first of the outputs.
    first: usize,
    /// `[rows, width]`.
    inputs: &'a [f32],
    width: usize,
    /// `[outputs of the block, rows]`.
    product: &'a mut [f32],
}

impl<E: Stored> WithSimd for Block<'_, E> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { weights, first, inputs, width, product } = self;
        let (rows, words) = (inputs.len() / width, width / E::INPUTS);
        let input = |row: usize| &inputs[row * width..][..width];
        let weight = |output: usize| &weights[output * words..][..words];
        for (group, product) in product.chunks_mut(WEIGHT_ROWS * rows).enumerate() {
            let output = first + group * WEIGHT_ROWS;
            if product.len() < WEIGHT_ROWS * rows {
                for (own, output) in product.chunks_exact_mut(rows).zip(output..) {
                    for (row, value) in own.iter_mut().enumerate() {
                        [[*value]] = E::tile::<S, 1, 1, true>(simd, [weight(output)], [input(row)]);
                    }
                }
                continue;
            }
            let weights: [&[E]; WEIGHT_ROWS] = std::array::from_fn(|w| weight(output + w));
            let mut row = 0;
            while row + INPUT_ROWS <= rows {
                let inputs: [&[f32]; INPUT_ROWS] = std::array::from_fn(|x| input(row + x));
                let sums = if row == 0 {
                    E::tile::<S, WEIGHT_ROWS, INPUT_ROWS, true>(simd, weights, inputs)
                } else {
                    E::tile::<S, WEIGHT_ROWS, INPUT_ROWS, false>(simd, weights, inputs)
                };
                for (sums, own) in sums.iter().zip(product.chunks_exact_mut(rows)) {
                    own[row..row + INPUT_ROWS].copy_from_slice(sums);
                }
                row += INPUT_ROWS;
            }
            for row in row..rows {
                let sums = if row == 0 {
                    E::tile::<S, WEIGHT_ROWS, 1, true>(simd, weights, [input(row)])
                } else {
                    E::tile::<S, WEIGHT_ROWS, 1, false>(simd, weights, [input(row)])
                };
                for ([sum], own) in sums.iter().zip(product.chunks_exact_mut(rows)) {
                    own[row] = *sum;
                }
            }
        }
    }
}

/// `[outputs, rows]` to `[rows, outputs]`.
fn transposed(product: &[f32], rows: usize) -> Vec<f32> {
    let outputs = product.len() / rows;
    let mut turned = vec![0.0; product.len()];
    for (row, own) in turned.chunks_exact_mut(outputs).enumerate() {
        for (value, sums) in own.iter_mut().zip(product.chunks_exact(rows)) {
            *value = sums[row];
        }
    }
    turned
}

fn size(count: i64) -> usize {
    usize::try_from(count).expect("a tensor has no negative size")
}

#[cfg(test)]
mod tests {
    use tch::Device;

    use super::*;

    fn wave(rows: i64, columns: i64, step: f64) -> Tensor {
        let options = (Kind::Double, Device::Cpu);
        (Tensor::arange(rows * columns, options) * step).sin().view([rows, columns])
    }

    fn column(tensor: &Tensor) -> Vec<f32> {
        Vec::try_from(tensor.to_kind(Kind::Float).reshape(-1)).expect("numbers")
    }

    /// Against libtorch in f64, for widths and heights that fill neither a vector nor a tile.
    #[test]
    fn products_are_those_of_libtorch() {
        for kind in [Kind::Float, Kind::BFloat16] {
            for (outputs, inputs, rows) in
                [(1, 1, 1), (7, 33, 3), (64, 96, 4), (130, 64, 9), (5, 200, 6)]
            {
                let weight = wave(outputs, inputs, 0.37).to_kind(kind);
                let x = wave(rows, inputs, 0.11).to_kind(Kind::Float);
                let matrix =
                    Matrix::new(&[weight.narrow(0, 0, 1), weight.narrow(0, 1, outputs - 1)]);
                let found = matrix.multiply(Arch::new(), &column(&x));
                let expected = x.to_kind(Kind::Double).matmul(&weight.to_kind(Kind::Double).tr());
                for (found, expected) in found.iter().zip(column(&expected)) {
                    assert!(
                        (found - expected).abs() < 2e-5,
                        "{kind:?} {outputs}x{inputs}: {found} {expected}"
                    );
                }
                let mut row = Vec::new();
                matrix.push_row(usize::try_from(outputs).unwrap() - 1, &mut row);
                assert_eq!(row, column(&weight.get(outputs - 1)));
            }
        }
    }

    #[test]
    fn a_row_gives_the_same_bits_alone_and_among_others_on_any_threads() {
        for kind in [Kind::Float, Kind::BFloat16] {
            let matrix = Matrix::new(&[wave(1003, 256, 0.7).to_kind(kind)]);
            let x = column(&wave(11, 256, 0.3));
            let on = |threads: usize, x: &[f32]| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| matrix.multiply(Arch::new(), x))
            };
            let together = on(3, &x);
            for (own, row) in together.chunks_exact(1003).zip(x.chunks_exact(256)) {
                assert!(on(1, row) == own, "{kind:?}");
            }
        }
    }
}
