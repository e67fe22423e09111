//! Products of a model's weights with few rows.
//!
//! Each output is one dot product with one vector of partial sums, over the inputs in order, whatever else is computed
//! beside it: a row gives the same bits alone and among others, on any number of threads.

#[cfg(target_arch = "x86_64")]
mod lookup;
#[cfg(target_arch = "x86_64")]
mod packed;
mod tile;

use std::slice::from_ref;

use pulp::Arch;
use rayon::prelude::*;
use tch::{Kind, Tensor};
use torch_ext::{HostNumbers, Numbers};

use packed::Packed;
pub(crate) use tile::{Block, MultiplyRows, multiply_rows};
use tile::{GROUP, WEIGHT_ROWS, WORDS};

use crate::rows::{each_row, transposed};

#[cfg(not(target_arch = "x86_64"))]
mod packed {
    /// Uninhabited: this architecture lacks the instructions that unpack fast.
    #[derive(Debug)]
    pub(super) enum Packed {}

    impl Packed {
        pub(super) fn new(_: &[&[[i32; super::WORDS]]], _: &rayon::ThreadPool) -> Option<Self> {
            None
        }

        pub(super) fn multiply(&self, _: pulp::Arch, _: usize, _: &[f32], _: &mut [f32]) {
            match *self {}
        }
    }
}

/// Inputs are padded with zeros to a multiple of this, so that no instruction set has a remainder.
const PADDING: usize = GROUP;

/// Largest number of rows whose product is limited by memory bandwidth, where packed weights help. More rows are limited by
/// arithmetic, and unpacking would add to it.
pub const WAIT_FOR_WEIGHTS: usize = 2;

/// Smallest number of products worth waking a thread for.
const WORTH_A_THREAD: usize = 1 << 16;

/// A weight `[outputs, inputs]` in the model's precision, read in the model's memory if possible, and packed if asked for.
#[derive(Debug)]
pub struct Matrix {
    /// Weights whose rows follow one another, `[.., width]`.
    numbers: HostNumbers,
    packed: Option<Packed>,
    /// Rows of each weight.
    heights: Vec<usize>,
    inputs: usize,
    /// `inputs` rounded up to a multiple of [`PADDING`].
    width: usize,
    /// True if the weights are bf16.
    in_pairs: bool,
}

/// Weights that a product reads.
#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    /// `[outputs, width]`.
    F32(&'a [f32]),
    /// `[outputs, width / 2]`, two bf16 a word, the earlier in its low half.
    Bf16(&'a [i32]),
    Packed(&'a Packed),
}

impl<'a> Source<'a> {
    /// `None` for bf16 that cannot be read in pairs.
    fn of(numbers: Numbers<'a>) -> Option<Self> {
        match numbers {
            Numbers::F32(numbers) => Some(Self::F32(numbers)),
            Numbers::Bf16(_) => numbers.bf16_pairs().map(Self::Bf16),
        }
    }
}

/// Returns a weight that [`padded`] has looked at.
fn readable(numbers: Numbers<'_>) -> Source<'_> {
    Source::of(numbers).expect("`padded` copies what cannot be read in pairs")
}

/// Copies a weight if it cannot be read in place or its width is not padded.
fn padded(weight: &Tensor, width: usize) -> Tensor {
    let filling = i64::try_from(width - size(weight.size()[1])).expect("less than PADDING");
    let numbers = HostNumbers::of(from_ref(weight));
    let is_readable =
        numbers.is_some_and(|numbers| numbers.read(|parts| Source::of(parts[0]).is_some()));
    if filling == 0 && is_readable {
        weight.shallow_clone()
    } else {
        weight.contiguous().constant_pad_nd([0, filling]).copy()
    }
}

impl Matrix {
    /// Joins the rows of several weights `[.., inputs]` of one kind, f32 or bf16, on the CPU.
    ///
    /// # Panics
    ///
    /// If there is no weight, or one is of another kind or elsewhere.
    pub fn new(weights: &[Tensor]) -> Self {
        let inputs = size(weights[0].size()[1]);
        let width = inputs.next_multiple_of(PADDING);
        let heights = weights.iter().map(|weight| size(weight.size()[0])).collect();
        let in_pairs = weights[0].kind() == Kind::BFloat16;
        let weights: Vec<Tensor> = weights.iter().map(|weight| padded(weight, width)).collect();
        let numbers = HostNumbers::of(&weights).expect("of the kinds a decoder takes");
        Self { numbers, packed: None, heights, inputs, width, in_pairs }
    }

    /// Adds a packed copy of bf16 weights, which is faster to read, if they can be packed. Products keep their bits.
    pub fn pack(&mut self, threads: &rayon::ThreadPool) {
        self.packed = self.numbers.read(|parts| {
            let words = parts.iter().filter_map(|part| part.bf16_pairs());
            let rows = words.flat_map(|words| words.chunks_exact(self.width / 2));
            let rows: Vec<&[[i32; WORDS]]> = rows.map(|row| row.as_chunks().0).collect();
            Packed::new(&rows, threads)
        });
    }

    /// Rows of all weights.
    pub fn outputs(&self) -> usize {
        self.heights.iter().sum()
    }

    /// Adds row `index`, `[inputs]`, to the end of `rows`.
    ///
    /// # Panics
    ///
    /// If there is no such row.
    pub fn push_row(&self, mut index: usize, rows: &mut Vec<f32>) {
        self.numbers.read(|parts| {
            let weight = parts.iter().zip(&self.heights).find(|(_, height)| {
                let is_here = index < **height;
                index -= if is_here { 0 } else { **height };
                is_here
            });
            let (numbers, _) = weight.expect("an index below `outputs`");
            let row = index * self.width..index * self.width + self.inputs;
            match numbers {
                Numbers::F32(numbers) => rows.extend_from_slice(&numbers[row]),
                Numbers::Bf16(halves) => {
                    let wide = |half: &u16| f32::from_bits(u32::from(*half) << 16);
                    rows.extend(halves[row].iter().map(wide));
                }
            }
        });
    }

    /// Product `[rows, outputs]` with `x`, `[rows, inputs]`.
    pub fn multiply(&self, arch: Arch, x: &[f32]) -> Vec<f32> {
        let inputs = self.lay_out(x);
        let rows = inputs.len() / self.width;
        // By output, so that threads write to places of their own.
        let mut product = vec![0.0; self.outputs() * rows];
        match &self.packed {
            Some(packed) if rows <= WAIT_FOR_WEIGHTS => {
                let sources = [(Source::Packed(packed), self.outputs())];
                self.run(arch, &sources, &inputs, &mut product);
            }
            _ => self.numbers.read(|parts| {
                let sources: Vec<_> = parts
                    .iter()
                    .map(|part| readable(*part))
                    .zip(self.heights.iter().copied())
                    .collect();
                self.run(arch, &sources, &inputs, &mut product);
            }),
        }
        if rows == 1 { product } else { transposed(&product, rows) }
    }

    /// Writes `product`, `[outputs, rows]`, of `sources`, each with its number of outputs, and padded `inputs`.
    fn run(
        &self,
        arch: Arch,
        sources: &[(Source<'_>, usize)],
        inputs: &[f32],
        product: &mut [f32],
    ) {
        let width = self.width;
        let rows = inputs.len() / width;
        let work = self.outputs() * width * rows;
        let threads = if work < WORTH_A_THREAD { 1 } else { rayon::current_num_threads() };
        let pieces = if threads == 1 { 1 } else { 4 * threads };
        let block = self.outputs().div_ceil(pieces).next_multiple_of(WEIGHT_ROWS);
        let mut blocks = Vec::with_capacity(pieces + sources.len());
        let mut rest = product;
        for (source, outputs) in sources {
            let (here, others) = rest.split_at_mut(outputs * rows);
            rest = others;
            let chunks = here.chunks_mut(block * rows).enumerate();
            blocks.extend(chunks.map(|(index, product)| (*source, index * block, product)));
        }
        let run = |(source, first, product): (Source<'_>, usize, &mut [f32])| match source {
            Source::F32(weights) => {
                arch.dispatch(Block { weights, first, inputs, width, product });
            }
            Source::Bf16(weights) => {
                arch.dispatch(Block { weights, first, inputs, width, product });
            }
            Source::Packed(packed) => packed.multiply(arch, first, inputs, product),
        };
        if threads == 1 {
            blocks.into_iter().for_each(run);
        } else {
            blocks.into_par_iter().for_each(run);
        }
    }

    /// Pads `x` to `[rows, width]`; for bf16 weights the even places of a row come before its odd ones.
    fn lay_out(&self, x: &[f32]) -> Vec<f32> {
        let rows = x.len() / self.inputs;
        let mut numbers = vec![0.0; rows * self.width];
        each_row(&mut numbers, self.width, |index, padded| {
            let row = &x[index * self.inputs..][..self.inputs];
            if !self.in_pairs {
                padded[..self.inputs].copy_from_slice(row);
                return;
            }
            let (even, odd) = padded.split_at_mut(self.width / 2);
            for ((pair, even), odd) in row.chunks(2).zip(even).zip(odd) {
                *even = pair[0];
                *odd = pair.get(1).copied().unwrap_or(0.0);
            }
        });
        numbers
    }
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

    /// Compares with libtorch in f64, for widths and heights that fill neither a vector nor a tile.
    #[test]
    fn products_are_those_of_libtorch() {
        for kind in [Kind::Float, Kind::BFloat16] {
            for (outputs, inputs, rows) in
                [(1, 1, 1), (7, 33, 3), (64, 96, 4), (130, 64, 9), (5, 200, 6)]
            {
                let weight = wave(outputs, inputs, 0.37).to_kind(kind);
                let x = wave(rows, inputs, 0.11).to_kind(Kind::Float);
                let row_blocks = [weight.narrow(0, 0, 1), weight.narrow(0, 1, outputs - 1)];
                let matrix = Matrix::new(&row_blocks);
                let product = matrix.multiply(Arch::new(), &column(&x));
                let expected = x.to_kind(Kind::Double).matmul(&weight.to_kind(Kind::Double).tr());
                for (value, expected) in product.iter().zip(column(&expected)) {
                    assert!(
                        (value - expected).abs() < 2e-5,
                        "{kind:?} {outputs}x{inputs}: {value} {expected}"
                    );
                }
                let mut row = Vec::new();
                matrix.push_row(usize::try_from(outputs).unwrap() - 1, &mut row);
                assert_eq!(row, column(&weight.get(outputs - 1)));
            }
        }
    }

    #[test]
    fn a_row_gives_the_same_bits_alone_and_among_others_on_any_threads_packed_or_not() {
        for kind in [Kind::Float, Kind::BFloat16] {
            let weight = wave(1003, 250, 0.7).to_kind(kind);
            let mut matrix = Matrix::new(&[weight.narrow(0, 0, 501), weight.narrow(0, 501, 502)]);
            let x = column(&wave(11, 250, 0.3));
            let pool = |threads: usize| {
                rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap()
            };
            let on = |matrix: &Matrix, threads: usize, x: &[f32]| {
                pool(threads).install(|| matrix.multiply(Arch::new(), x))
            };
            let together = on(&matrix, 3, &x);
            matrix.pack(&pool(2));
            #[cfg(target_arch = "x86_64")]
            assert_eq!(
                matrix.packed.is_some(),
                kind == Kind::BFloat16 && lookup::Lookup::new().is_some()
            );
            for (product, row) in together.chunks_exact(1003).zip(x.chunks_exact(250)) {
                assert!(on(&matrix, 1, row) == product, "{kind:?}");
            }
            assert!(on(&matrix, 2, &x[..500]) == together[..2006], "{kind:?}");
        }
    }
}
