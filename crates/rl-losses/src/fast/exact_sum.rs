//! Sums that do not depend on the order or the grouping of their terms.

use std::iter::zip;

use serde::{Deserialize, Serialize};

use super::real::Real;

/// Scales that reach from [`LOWEST`] past the largest `f64`.
const SCALES: usize = 26;
/// Terms below `2^LOWEST` in magnitude belong to the lowest scale.
const LOWEST: i32 = 20;
/// Bits between scales.
const STEP: i32 = 41;
/// Bits below the top of a scale that are kept.
const KEPT: i32 = 94;

/// A sum of numbers that is the same to the last bit in any order and any grouping, so that a mean is
/// that of the batch however the batch is spread over micro-batches and ranks.
///
/// Each term is rounded once, to a fixed grid 94 bits below the top of its scale (`2^-74` for terms
/// below a million), and the rounded terms are added as integers.
///
/// Source: the idea is that of Demmel and Nguyen 2013, [reproducible
/// summation](https://doi.org/10.1109/ARITH.2013.9).
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExactSum {
    // Units of the grid of each scale; almost always the lowest only.
    units: Vec<i128>,
}

impl ExactSum {
    /// The sum of `terms`, all finite.
    #[inline(always)]
    pub(crate) fn of<R: Real>(terms: &[R]) -> Self {
        let mut sum = Self::default();
        let (runs, last) = terms.as_chunks::<RUN>();
        // Runs of one known length: their loops need no test for the end.
        for run in runs {
            sum.extend(run);
        }
        if !last.is_empty() {
            sum.extend(last);
        }
        sum
    }

    /// Adds up to [`RUN`] terms, at least one and all finite.
    #[inline(always)]
    fn extend<R: Real>(&mut self, terms: &[R]) {
        let zero = R::of(0.0).magnitude_bits();
        let largest = terms.iter().fold(zero, |largest, term| largest.max(term.magnitude_bits()));
        if largest >= R::of(power(LOWEST)).magnitude_bits() {
            for term in terms {
                self.add(term.to_f64());
            }
        } else if terms.iter().fold(true, |alike, term| alike & (*term == terms[0])) {
            // An advantage is the same throughout a sequence.
            self.add_units(0, small_units(&terms[..1]) * terms.len() as i128);
        } else if fit_middle_grid(terms, largest) {
            self.add_units(0, middle_units(terms));
        } else {
            self.add_units(0, small_units(terms));
        }
    }

    /// Adds what `other` holds.
    pub fn merge(&mut self, other: &Self) {
        for (scale, units) in other.units.iter().enumerate() {
            self.add_units(scale, *units);
        }
    }

    /// The sum, rounded to `f64`.
    pub fn total(&self) -> f64 {
        // From the largest scale down, so that what is added is smaller than what is there.
        self.units
            .iter()
            .enumerate()
            .rev()
            .map(|(scale, &units)| {
                let unit = top(scale) - KEPT;
                // In two steps: the power alone may overflow.
                units as f64 * power(unit / 2) * power(unit - unit / 2)
            })
            .fold(0.0, |sum, part| sum + part)
    }

    fn add(&mut self, term: f64) {
        let mut scale = 0;
        while scale + 1 < SCALES && term.abs() >= power(top(scale)) {
            scale += 1;
        }
        // Exact: a power of two, and 53 bits of the 94.
        let shift = KEPT - top(scale);
        let scaled = (term * power(shift / 2)) * power(shift - shift / 2);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "below 2^94 and rounded to an integer"
        )]
        self.add_units(scale, scaled.round_ties_even() as i128);
    }

    fn add_units(&mut self, scale: usize, units: i128) {
        if self.units.len() <= scale {
            self.units.resize(scale + 1, 0);
        }
        // A term that overflowed is as large as a scale holds; so is the sum of two.
        self.units[scale] = self.units[scale].saturating_add(units);
    }
}

/// The sum of each of some terms of two columns, both `[tokens]`.
pub(crate) fn sums_of<R: Real, const TERMS: usize>(
    left: &[R],
    right: &[R],
    terms: impl Fn(f64, f64) -> [f64; TERMS],
) -> Vec<ExactSum> {
    let mut sums = vec![ExactSum::default(); TERMS];
    for (left, right) in zip(left.chunks(RUN), right.chunks(RUN)) {
        let mut columns = [[0.0; RUN]; TERMS];
        for (place, (left, right)) in zip(left, right).enumerate() {
            for (column, term) in zip(&mut columns, terms(left.to_f64(), right.to_f64())) {
                column[place] = term;
            }
        }
        for (sum, column) in zip(&mut sums, &columns) {
            sum.merge(&ExactSum::of(&column[..left.len()]));
        }
    }
    sums
}

/// Exponent that terms of a scale stay below.
#[expect(clippy::cast_possible_wrap, clippy::cast_possible_truncation, reason = "at most 26")]
fn top(scale: usize) -> i32 {
    LOWEST + STEP * scale as i32
}

fn power(exponent: i32) -> f64 {
    2f64.powi(exponent)
}

/// Terms whose units are added up together: sums of so many units below `2^51` fit an `i64`.
const RUN: usize = 256;

/// The sum of up to [`RUN`] terms below `2^20`, in units of `2^-74`.
///
/// Each term is rounded to the coarse grid, and what is left of it, exact, to the fine one. Both roundings leave
/// their units as an integer in the low bits of a number, and integers add up in any order: in vectors.
#[inline(always)]
fn small_units<R: Real>(terms: &[R]) -> i128 {
    let (mut coarse, mut fine) = (0u64, 0u64);
    for term in terms {
        let term = term.to_f64();
        let on_grid = term + COARSE;
        coarse = coarse.wrapping_add(on_grid.to_bits());
        let rest = term - (on_grid - COARSE);
        fine = fine.wrapping_add((rest + FINE).to_bits());
    }
    (units_above(coarse, COARSE, terms.len()) << 43) + units_above(fine, FINE, terms.len())
}

/// Returns true if terms of this `largest` magnitude are all below 16 and on the middle grid, `2^-47`: for `f32`, if none
/// but 0 is below `2^-24`.
#[inline(always)]
fn fit_middle_grid<R: Real>(terms: &[R], largest: R::Bits) -> bool {
    let (least, limit) = (power(R::SIGNIFICAND_BITS - 48), R::of(16.0).magnitude_bits());
    // No f64 below 16 can be told to be.
    least < 16.0 && largest < limit && {
        let zero = R::of(0.0).nonzero_magnitude_bits();
        let smallest =
            terms.iter().fold(zero, |lowest, term| lowest.min(term.nonzero_magnitude_bits()));
        smallest >= R::of(least).nonzero_magnitude_bits()
    }
}

/// [`small_units`] of terms that [fit the middle grid](fit_middle_grid), in half as many instructions: nothing is rounded.
#[inline(always)]
fn middle_units<R: Real>(terms: &[R]) -> i128 {
    let add = |sum: u64, term: &R| sum.wrapping_add((term.to_f64() + MIDDLE).to_bits());
    units_above(terms.iter().fold(0, add), MIDDLE, terms.len()) << 27
}

/// The units in `sum`, that of the bits of `count` numbers to each of which `rounder` was added.
#[inline(always)]
fn units_above(sum: u64, rounder: f64, count: usize) -> i128 {
    let rounders = (count as u64).wrapping_mul(rounder.to_bits());
    i128::from(sum.wrapping_sub(rounders).cast_signed())
}

/// `1.5 · 2^52` units of the coarse grid, `2^-31`: a number added to it is rounded to that grid.
const COARSE: f64 = 6_755_399_441_055_744.0 / 2_147_483_648.0;
/// `1.5 · 2^52` units of the middle grid, `2^-47`.
const MIDDLE: f64 = 48.0;
/// `1.5 · 2^52` units of the fine grid, `2^-74`.
const FINE: f64 = 6_755_399_441_055_744.0 / 18_889_465_931_478_580_854_784.0;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_term() -> impl Strategy<Value = f64> {
        prop_oneof![
            10 => -30.0..30.0f64,
            2 => -1e-20..1e-20f64,
            1 => prop::num::f64::NORMAL.prop_map(|x| x / 1e6),
        ]
    }

    proptest! {
        #[test]
        fn order_and_grouping_change_no_bit(
            terms in prop::collection::vec(any_term(), 0..200), cut: prop::sample::Index,
        ) {
            let unsplit = ExactSum::of(&terms);
            let (left, right) = terms.split_at(cut.index(terms.len() + 1));
            let mut merged = ExactSum::of(right);
            merged.merge(&ExactSum::of(left));
            prop_assert_eq!(merged.total().to_bits(), unsplit.total().to_bits());
            let mut one_by_one = ExactSum::default();
            terms.iter().rev().for_each(|&term| one_by_one.add(term));
            prop_assert_eq!(one_by_one.total().to_bits(), unsplit.total().to_bits());
        }

        /// Summed by themselves and as runs: with zeros, with terms too small for the middle grid, and at its ends.
        #[test]
        fn a_run_of_singles_sums_as_its_terms_do(
            terms in prop::collection::vec(
                prop_oneof![
                    40 => -15.9f32..0.0,
                    5 => Just(0.0),
                    5 => prop::sample::select(vec![2f32.powi(-24), -(2f32.powi(-24)), 15.999_999, -15.999_999, 3.3e-7]),
                    1 => prop::sample::select(vec![16.3f32, -16.3, 2f32.powi(-24).next_down(), -3.3e-8, 1e-30, 2e6]),
                ],
                1..40,
            ),
        ) {
            let mut one_by_one = ExactSum::default();
            for &term in &terms {
                one_by_one.add(f64::from(term));
            }
            prop_assert_eq!(ExactSum::of(&terms), one_by_one);
        }

        #[test]
        fn terms_that_fit_the_grid_lose_nothing(terms in prop::collection::vec(-1i64 << 40..1 << 40, 0..9999)) {
            let column: Vec<f64> = terms.iter().map(|&term| term as f64 / f64::from(1 << 21)).collect();
            let exact = terms.iter().sum::<i64>() as f64 / f64::from(1 << 21);
            prop_assert_eq!(ExactSum::of(&column).total().to_bits(), (exact + 0.0).to_bits());
        }
    }

    #[test]
    fn extremes_add_up() {
        assert!((ExactSum::of(&[f64::MAX, -1.0, -f64::MAX]).total() + 1.0).abs() < 1e-15);
        assert_eq!(ExactSum::of::<f64>(&[]).total().to_bits(), 0);
        let tenths = ExactSum::of(&vec![0.1f32; 10_000]).total();
        assert_eq!(tenths.to_bits(), (f64::from(0.1f32) * 1e4).to_bits());
    }
}
