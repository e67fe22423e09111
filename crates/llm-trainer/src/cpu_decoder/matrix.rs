//! Weights laid out for products with few rows, and that product.
//!
//! Each output is one dot product with one vector of partial sums, over the inputs in order, whatever else is computed
//! beside it: a row gives the same bits alone and among others, on any number of threads.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use tch::{Device, Kind, Tensor};

/// Inputs are filled up with zeros to a multiple of this, so that no instruction set has a rest.
const PADDING: usize = 32;

/// Fewer products than this are not worth waking a thread for.
const WORTH_A_THREAD: usize = 1 << 16;

/// Weights whose product is taken at once.
const WEIGHT_ROWS: usize = 4;

/// Inputs whose product is taken at once, where there are so many.
const INPUT_ROWS: usize = 4;

/// A weight `[outputs, inputs]` in the model's own precision.
#[derive(Debug)]
pub(super) struct Matrix {
    numbers: Numbers,
    outputs: usize,
    inputs: usize,
    /// `inputs` filled up.
    width: usize,
}

#[derive(Debug)]
enum Numbers {
    /// `[outputs, width]`.
    F32(Vec<f32>),
    /// `[outputs, width / 2]`, two bf16 a word, the earlier in its low half.
    Bf16(Vec<i32>),
}

impl Matrix {
    /// The rows of several weights `[.., inputs]` of one kind, one after another.
    pub(super) fn new(weights: &[Tensor]) -> Self {
        let whole = match weights {
            [one] => one.detach(),
            several => Tensor::cat(several, 0).detach(),
        };
        let weight = whole.to_device(Device::Cpu).contiguous();
        let [outputs, inputs] = [0, 1].map(|dimension| size(weight.size()[dimension]));
        let width = inputs.next_multiple_of(PADDING);
        let filling = i64::try_from(width - inputs).expect("less than PADDING");
        let weight = if filling > 0 { weight.constant_pad_nd([0, filling]) } else { weight };
        let count = outputs * width;
        let numbers = if weight.kind() == Kind::BFloat16 {
            // Neighbours as one integer: the machines that have these libraries put the earlier in the low half.
            let mut words = vec![0_i32; count / 2];
            weight.view_dtype(Kind::Int).copy_data(&mut words, count / 2);
            Numbers::Bf16(words)
        } else {
            let mut numbers = vec![0.0_f32; count];
            weight.copy_data(&mut numbers, count);
            Numbers::F32(numbers)
        };
        Self { numbers, outputs, inputs, width }
    }

    pub(super) fn outputs(&self) -> usize {
        self.outputs
    }

    /// Adds row `index`, `[inputs]`, to the end of `rows`.
    pub(super) fn push_row(&self, index: usize, rows: &mut Vec<f32>) {
        match &self.numbers {
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
        let run = |(index, product): (usize, &mut [f32])| {
            let (first, inputs) = (index * block, inputs.as_slice());
            match &self.numbers {
                Numbers::F32(weights) => {
                    arch.dispatch(Block { weights, first, inputs, width, product });
                }
                Numbers::Bf16(weights) => {
                    arch.dispatch(Block { weights, first, inputs, width, product });
                }
            }
        };
        if threads == 1 {
            run((0, &mut product));
        } else {
            product.par_chunks_mut(block * rows).enumerate().for_each(run);
        }
        if rows == 1 { product } else { transposed(&product, rows) }
    }

    /// `[rows, width]`; for bf16 weights the even places of a row before its odd ones.
    fn lay_out(&self, x: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.inputs;
        let mut numbers = vec![0.0; rows * self.width];
        for (own, row) in numbers.chunks_exact_mut(self.width).zip(x.chunks_exact(self.inputs)) {
            match self.numbers {
                Numbers::F32(_) => own[..self.inputs].copy_from_slice(row),
                Numbers::Bf16(_) => {
                    let (even, odd) = own.split_at_mut(self.width / 2);
                    for ((pair, even), odd) in row.chunks(2).zip(even).zip(odd) {
                        *even = pair[0];
                        *odd = pair.get(1).copied().unwrap_or(0.0);
                    }
                }
            }
        }
        numbers
    }
}

/// How weights lie in memory.
trait Stored: Copy + Sync {
    /// Inputs that one of them is multiplied with.
    const INPUTS: usize;

    /// Dot products of `W` weights with `X` inputs, all of one length, a multiple of [`PADDING`].
    fn tile<S: Simd, const W: usize, const X: usize>(
        simd: S,
        weights: [&[Self]; W],
        inputs: [&[f32]; X],
    ) -> [[f32; X]; W];
}

impl Stored for f32 {
    const INPUTS: usize = 1;

    #[inline(always)]
    fn tile<S: Simd, const W: usize, const X: usize>(
        simd: S,
        weights: [&[Self]; W],
        inputs: [&[f32]; X],
    ) -> [[f32; X]; W] {
        let weights = weights.map(|weight| S::as_simd_f32s(weight).0);
        let inputs = inputs.map(|input| S::as_simd_f32s(input).0);
        let mut sums = [[simd.splat_f32s(0.0); X]; W];
        for place in 0..weights[0].len() {
            let x = inputs.map(|input| input[place]);
            for (weights, sums) in weights.iter().zip(&mut sums) {
                let weight = weights[place];
                for (x, sum) in x.iter().zip(sums) {
                    *sum = simd.mul_add_f32s(weight, *x, *sum);
                }
            }
        }
        sums.map(|sums| sums.map(|sum| simd.reduce_sum_f32s(sum)))
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
    ) -> [[f32; X]; W] {
        let weights = weights.map(|weight| S::as_simd_i32s(weight).0);
        let halves = inputs.map(|input| input.split_at(input.len() / 2));
        let evens = halves.map(|(even, _)| S::as_simd_f32s(even).0);
        let odds = halves.map(|(_, odd)| S::as_simd_f32s(odd).0);
        let (sixteen, high) = (simd.splat_u32s(16), simd.splat_u32s(0xffff_0000));
        let mut sums = [[simd.splat_f32s(0.0); X]; W];
        for place in 0..weights[0].len() {
            let (even, odd) = (evens.map(|even| even[place]), odds.map(|odd| odd[place]));
            for (weights, sums) in weights.iter().zip(&mut sums) {
                let word = simd.transmute_u32s_i32s(weights[place]);
                let first = simd.transmute_f32s_u32s(simd.wrapping_dyn_shl_u32s(word, sixteen));
                let second = simd.transmute_f32s_u32s(simd.and_u32s(word, high));
                for ((even, odd), sum) in even.iter().zip(&odd).zip(sums) {
                    *sum = simd.mul_add_f32s(first, *even, *sum);
                    *sum = simd.mul_add_f32s(second, *odd, *sum);
                }
            }
        }
        sums.map(|sums| sums.map(|sum| simd.reduce_sum_f32s(sum)))
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
                        [[*value]] = E::tile(simd, [weight(output)], [input(row)]);
                    }
                }
                continue;
            }
            let weights: [&[E]; WEIGHT_ROWS] = std::array::from_fn(|w| weight(output + w));
            let mut row = 0;
            while row + INPUT_ROWS <= rows {
                let inputs: [&[f32]; INPUT_ROWS] = std::array::from_fn(|x| input(row + x));
                let sums = E::tile(simd, weights, inputs);
                for (sums, own) in sums.iter().zip(product.chunks_exact_mut(rows)) {
                    own[row..row + INPUT_ROWS].copy_from_slice(sums);
                }
                row += INPUT_ROWS;
            }
            for row in row..rows {
                let sums = E::tile(simd, weights, [input(row)]);
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
