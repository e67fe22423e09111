//! Weights in bf16 in three quarters of their bytes, without loss.
//!
//! The upper byte of a bf16 holds the sign and all but the last bit of the exponent. Nearly all weights of a model have one of
//! sixteen upper bytes, so four bits name it in a table, and the lower byte is stored unchanged. A group with any other upper
//! byte is stored in full. Products have the same bits as with the unpacked weights.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;
use torch_ext::{prefer_large_pages, prefetch};

use super::lookup::{CODES, Lookup};
use super::tile::{
    GROUP, Halves, LINE, MultiplyRows, UpperHalf, WEIGHT_ROWS, WORDS, add_words, multiply_rows,
    some_rows,
};

/// Rows whose upper bytes are counted.
const COUNTED_ROWS: usize = 64;

/// Packing pays if at most one group in this many is stored in full.
const FEW: usize = 8;

/// Pieces to prefetch ahead of the one in use.
const PIECES_AHEAD: usize = 20;

/// Full groups to prefetch ahead of the one in use; a tile has few.
const FULL_GROUPS_AHEAD: usize = 4;

/// [`GROUP`] inputs of each of [`WEIGHT_ROWS`] rows.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
struct Piece {
    /// Places of the upper bytes in the table; see [`Lookup::pack`].
    codes: [[u8; GROUP / 2]; WEIGHT_ROWS],
    lower: [[u8; GROUP]; WEIGHT_ROWS],
}

/// [`GROUP`] inputs of each of [`WEIGHT_ROWS`] rows in full, two bf16 a word.
#[derive(Debug)]
#[repr(C, align(64))]
struct FullGroup {
    words: [[i32; WORDS]; WEIGHT_ROWS],
    /// Index of the group within its rows.
    group: usize,
}

/// A packed weight `[outputs, groups · GROUP]` of bf16. The last row pads the last tile of [`WEIGHT_ROWS`] rows.
#[derive(Debug)]
pub(super) struct Packed {
    lookup: Lookup,
    /// The upper byte of each code.
    table: [u8; CODES],
    groups: usize,
    /// `[tiles, groups]`; those of `full_groups` are not read.
    pieces: Vec<Piece>,
    /// The groups that have an upper byte without a code, tile by tile.
    full_groups: Vec<FullGroup>,
    /// Index in `full_groups` of each tile's first group, and the end: `[tiles + 1]`.
    starts: Vec<usize>,
}

impl Packed {
    /// Packs `rows`, each `[groups, WORDS]`, two bf16 a word; `None` where the processor cannot unpack them fast, or where too
    /// many upper bytes have no code.
    pub(super) fn new(rows: &[&[[i32; WORDS]]], threads: &rayon::ThreadPool) -> Option<Self> {
        let lookup = Lookup::new()?;
        let groups = rows.first()?.len();
        let table = commonest_upper_bytes(rows);
        let tiles = rows.len().div_ceil(WEIGHT_ROWS);
        let words = |index: usize| -> [&[i32; WORDS]; WEIGHT_ROWS] {
            let (tile, group) = (index / groups, index % groups);
            let row = |offset: usize| rows[(tile * WEIGHT_ROWS + offset).min(rows.len() - 1)];
            std::array::from_fn(|offset| &row(offset)[group])
        };
        // Taken by this thread, not by one of the pool: a thread that is new would not find what another before it gave back.
        let mut pieces = Vec::with_capacity(tiles * groups);
        prefer_large_pages(&mut pieces);
        let mut are_full = Vec::new();
        threads.install(|| {
            (0..tiles * groups)
                .into_par_iter()
                .map(|index| Piece::new(lookup, &table, words(index)))
                .unzip_into_vecs(&mut pieces, &mut are_full);
        });
        let indices = || are_full.iter().enumerate().filter(|(_, is_full)| **is_full);
        if indices().count() * FEW > pieces.len() {
            return None;
        }
        let full_group =
            |index| FullGroup { group: index % groups, words: words(index).map(|words| *words) };
        let full_groups = indices().map(|(index, _)| full_group(index)).collect();
        let mut starts = vec![0];
        for tile in are_full.chunks_exact(groups) {
            let here = tile.iter().filter(|is_full| **is_full).count();
            starts.push(starts[starts.len() - 1] + here);
        }
        Some(Self { lookup, table, groups, pieces, full_groups, starts })
    }

    /// Products of the rows from `first`, which begins a tile, with `inputs`, `[rows, width]` as `Matrix::lay_out` has them;
    /// `product` is `[outputs from first, rows]`.
    pub(super) fn multiply(&self, arch: Arch, first: usize, inputs: &[f32], product: &mut [f32]) {
        arch.dispatch(Block { packed: self, first, inputs, product });
    }

    /// The groups of [`WEIGHT_ROWS`] rows.
    fn tile(&self, tile: usize) -> (&[Piece], &[FullGroup]) {
        let pieces = &self.pieces[tile * self.groups..][..self.groups];
        (pieces, &self.full_groups[self.starts[tile]..self.starts[tile + 1]])
    }
}

impl Piece {
    /// Packs words, and says whether some upper byte has no code.
    fn new(
        lookup: Lookup,
        table: &[u8; CODES],
        words: [&[i32; WORDS]; WEIGHT_ROWS],
    ) -> (Self, bool) {
        let mut piece =
            Self { codes: [[0; GROUP / 2]; WEIGHT_ROWS], lower: [[0; GROUP]; WEIGHT_ROWS] };
        let mut is_full = false;
        for ((words, codes), lower) in words.into_iter().zip(&mut piece.codes).zip(&mut piece.lower)
        {
            is_full |= !lookup.pack(table, words, codes, lower);
        }
        (piece, is_full)
    }
}

/// The commonest upper bytes of some rows, evenly spaced.
fn commonest_upper_bytes(rows: &[&[[i32; WORDS]]]) -> [u8; CODES] {
    let mut counts = [0_usize; 256];
    for row in rows.iter().step_by(rows.len().div_ceil(COUNTED_ROWS)) {
        for word in row.as_flattened() {
            let [_, first, _, second] = word.to_le_bytes();
            counts[usize::from(first)] += 1;
            counts[usize::from(second)] += 1;
        }
    }
    let mut bytes: Vec<u8> = (0..=u8::MAX).collect();
    bytes.sort_by_key(|byte| std::cmp::Reverse(counts[usize::from(*byte)]));
    std::array::from_fn(|code| bytes[code])
}

/// Some outputs of a product; see [`Packed::multiply`].
struct Block<'a> {
    packed: &'a Packed,
    first: usize,
    inputs: &'a [f32],
    product: &'a mut [f32],
}

impl WithSimd for Block<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { packed, first, inputs, product } = self;
        let rows = inputs.len() / (packed.groups * GROUP);
        for (tile, product) in product.chunks_mut(WEIGHT_ROWS * rows).enumerate() {
            let (pieces, full_groups) = packed.tile(first / WEIGHT_ROWS + tile);
            multiply_rows(simd, rows, &mut Tile { packed, pieces, full_groups, inputs, product });
        }
    }
}

/// [`WEIGHT_ROWS`] outputs of a product.
struct Tile<'a> {
    packed: &'a Packed,
    /// `[groups]`
    pieces: &'a [Piece],
    full_groups: &'a [FullGroup],
    /// `[rows, width]`.
    inputs: &'a [f32],
    /// `[outputs, rows]`.
    product: &'a mut [f32],
}

impl MultiplyRows for Tile<'_> {
    #[inline(always)]
    fn multiply<S: Simd, const X: usize>(&mut self, simd: S, rows: usize, row: usize) {
        let inputs = Halves::new(some_rows(self.inputs, rows, row));
        let mask = UpperHalf::new();
        let mut sums = [[simd.splat_f32s(0.0); X]; WEIGHT_ROWS];
        let mut read = 0;
        for full in self.full_groups {
            self.add_pieces(simd, mask, read..full.group, &inputs, &mut sums);
            fetch::<FullGroup, _>(full.words.as_flattened(), FULL_GROUPS_AHEAD);
            let inputs = inputs.of_group(full.group);
            for (words, sums) in full.words.iter().zip(&mut sums) {
                add_words(simd, mask, words, &inputs, sums);
            }
            read = full.group + 1;
        }
        self.add_pieces(simd, mask, read..self.pieces.len(), &inputs, &mut sums);
        for (output, sums) in self.product.chunks_exact_mut(rows).zip(&sums) {
            for (value, sum) in output[row..].iter_mut().zip(sums) {
                *value = simd.reduce_sum_f32s(*sum);
            }
        }
    }
}

impl Tile<'_> {
    /// Adds the products of some packed groups to the sums of each row.
    #[inline(always)]
    fn add_pieces<S: Simd, const X: usize>(
        &self,
        simd: S,
        mask: UpperHalf,
        groups: Range<usize>,
        inputs: &Halves<'_, X>,
        sums: &mut [[S::f32s; X]; WEIGHT_ROWS],
    ) {
        let Packed { lookup, table, .. } = self.packed;
        for (group, piece) in groups.clone().zip(&self.pieces[groups]) {
            fetch::<Piece, _>(piece.codes.as_flattened(), PIECES_AHEAD);
            let inputs = inputs.of_group(group);
            for ((codes, lower), sums) in piece.codes.iter().zip(&piece.lower).zip(&mut *sums) {
                let words = lookup.unpack(table, codes, lower);
                add_words(simd, mask, &words, &inputs, sums);
            }
        }
    }
}

/// Prefetches the `T` that lies `ahead` places after the one that starts with `start`.
#[inline(always)]
fn fetch<T, E>(start: &[E], ahead: usize) {
    let ahead = ahead * size_of::<T>();
    for byte in (ahead..ahead + size_of::<T>()).step_by(LINE) {
        prefetch(start, byte / size_of::<E>());
    }
}

#[cfg(test)]
mod tests {
    use super::super::tile;
    use super::*;

    /// The words of row `row`, `[groups, WORDS]`.
    fn unpacked(packed: &Packed, row: usize) -> Vec<[i32; WORDS]> {
        let (pieces, full_groups) = packed.tile(row / WEIGHT_ROWS);
        let row = row % WEIGHT_ROWS;
        let words = |(group, piece): (usize, &Piece)| {
            let full = full_groups.iter().find(|full| full.group == group);
            full.map_or_else(
                || packed.lookup.unpack(&packed.table, &piece.codes[row], &piece.lower[row]),
                |full| full.words[row],
            )
        };
        pieces.iter().enumerate().map(words).collect()
    }

    /// `[outputs, groups]` of the bf16 that `number` has at each place.
    fn weight(outputs: usize, groups: usize, number: impl Fn(usize) -> u16) -> Vec<[i32; WORDS]> {
        let word = |index: usize| {
            i32::from_le_bytes({
                let [[a, b], [c, d]] =
                    [number(2 * index), number(2 * index + 1)].map(u16::to_le_bytes);
                [a, b, c, d]
            })
        };
        (0..outputs * groups)
            .map(|group| std::array::from_fn(|index| word(group * WORDS + index)))
            .collect()
    }

    /// Packs `weight`; also returns the fraction of full groups. `None` if the processor cannot unpack.
    fn pack(weight: &[[i32; WORDS]], groups: usize) -> Option<(Packed, f64)> {
        let packed = try_pack(weight, groups);
        assert_eq!(packed.is_none(), Lookup::new().is_none());
        let packed = packed?;
        let share = packed.full_groups.len() as f64 / packed.pieces.len() as f64;
        Some((packed, share))
    }

    fn try_pack(weight: &[[i32; WORDS]], groups: usize) -> Option<Packed> {
        let threads = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        Packed::new(&weight.chunks_exact(groups).collect::<Vec<_>>(), &threads)
    }

    fn assert_unpacks(packed: &Packed, weight: &[[i32; WORDS]], groups: usize) {
        for (row, words) in weight.chunks_exact(groups).enumerate() {
            assert!(unpacked(packed, row) == words, "row {row}");
        }
    }

    /// Infinities, NaN, subnormal numbers and both zeros are among them.
    #[test]
    fn every_bf16_comes_back_from_codes() {
        for first in (0..256).step_by(CODES) {
            let number = |index: usize| u16::try_from(first * 256 + index % 4096).unwrap();
            let weight = weight(9, 8, number);
            let Some((packed, share)) = pack(&weight, 8) else { return };
            assert!(share == 0.0, "sixteen upper bytes");
            assert_unpacks(&packed, &weight, 8);
        }
    }

    #[test]
    fn every_bf16_comes_back_from_groups_in_full() {
        // One group of a tile in eleven goes through all numbers.
        let number = |index: usize| {
            let (row, group) = (index / (11 * GROUP), index / GROUP % 11);
            let any = row * GROUP + index % GROUP;
            if group == row / 4 % 11 { any * 37 % (1 << 16) } else { 0x3c00 + index * 7 % 0x400 }
        };
        let weight = weight(1026, 11, |index| u16::try_from(number(index)).unwrap());
        let Some((packed, share)) = pack(&weight, 11) else { return };
        assert!((0.08..0.1).contains(&share), "{share}");
        assert_unpacks(&packed, &weight, 11);
    }

    #[test]
    fn weights_of_all_upper_bytes_are_left_as_they_are() {
        let weight = weight(8, 4, |index| u16::try_from(index * 641 % (1 << 16)).unwrap());
        assert!(try_pack(&weight, 4).is_none());
    }

    /// Compares with the kernel for unpacked bf16, on the same instructions.
    #[test]
    fn products_are_the_bits_of_those_with_the_weights_in_full() {
        for (outputs, groups, rare, rows) in
            [(1, 1, 0, 1), (4, 3, 0, 2), (7, 14, 9, 3), (133, 5, 31, 5), (64, 76, 101, 1)]
        {
            // From 2^-8 to 2 of both signs; some of any kind.
            let number = |index: usize| {
                let random = index.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 33;
                let usual = (random & 0x8000) | (0x3b80 + random % 0x480);
                let is_rare = rare > 0 && index / GROUP % 61 == 3 && index.is_multiple_of(rare);
                u16::try_from(if is_rare { random % (1 << 16) } else { usual }).unwrap()
            };
            let weight = weight(outputs, groups, number);
            let Some((packed, share)) = pack(&weight, groups) else { return };
            assert_eq!(share > 0.0, rare > 0);
            let width = groups * GROUP;
            let inputs: Vec<f32> = (0..rows * width).map(|at| (at as f32 * 0.7).sin()).collect();
            let inputs = inputs.as_slice();
            let weights = weight.as_flattened();
            let compare = |run: &dyn Fn(Both<'_>)| {
                let [mut product, mut expected] =
                    [f32::NAN, 0.5].map(|any| vec![any; outputs * rows]);
                run(Both(
                    Block { packed: &packed, first: 0, inputs, product: &mut product },
                    tile::Block { weights, first: 0, inputs, width, product: &mut expected },
                ));
                assert_same_bits(&product, &expected);
            };
            compare(&|both| Arch::new().dispatch(both));
            if let Some(simd) = pulp::x86::V3::try_new() {
                compare(&|both| pulp::x86::V3_128b(simd).vectorize(both));
                compare(&|both| pulp::x86::V3_512b(simd).vectorize(both));
            }
        }
    }

    /// One product with packed and with unpacked weights.
    struct Both<'a>(Block<'a>, tile::Block<'a, i32>);

    impl WithSimd for Both<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            self.0.with_simd(simd);
            self.1.with_simd(simd);
        }
    }

    fn assert_same_bits(found: &[f32], expected: &[f32]) {
        for (value, expected) in found.iter().zip(expected) {
            let are_none = value.is_nan() && expected.is_nan();
            assert!(are_none || value.to_bits() == expected.to_bits(), "{value} {expected}");
        }
    }
}
