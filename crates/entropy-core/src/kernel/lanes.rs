//! Eight `f64` side by side, the unit in which all kernels compute.
//!
//! Plain arithmetic on arrays: the compiler turns it into one AVX-512 instruction, two of AVX2 or
//! eight scalar ones, according to the function into which it is inlined.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use std::array::from_fn;

/// Lanes of every sum, on every machine: it fixes the order of additions.
pub(super) const LANES: usize = 8;

#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
pub(super) struct Lanes(pub(super) [f64; LANES]);

impl Lanes {
    #[inline(always)]
    pub(super) fn splat(value: f64) -> Self {
        Self([value; LANES])
    }

    /// The first lanes from `slice`, which is shorter than a block; the rest filled up.
    #[inline(always)]
    pub(super) fn padded(slice: &[f64], fill: f64) -> Self {
        let mut lanes = [fill; LANES];
        lanes[..slice.len()].copy_from_slice(slice);
        Self(lanes)
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f64, f64) -> f64) -> Self {
        Self(from_fn(|lane| f(self.0[lane], other.0[lane])))
    }

    #[inline(always)]
    pub(super) fn plus(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }

    #[inline(always)]
    pub(super) fn minus(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }

    #[inline(always)]
    pub(super) fn times(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }

    /// `self · factor + term`, rounded once.
    #[inline(always)]
    pub(super) fn fused(self, factor: Self, term: Self) -> Self {
        Self(from_fn(|lane| self.0[lane].mul_add(factor.0[lane], term.0[lane])))
    }

    /// The larger of each two; `other` where one is NaN.
    #[inline(always)]
    pub(super) fn max(self, other: Self) -> Self {
        self.zip(other, |a, b| if a > b { a } else { b })
    }

    /// `self`, with 0 in the lanes where `left` and `right` are equal.
    #[inline(always)]
    #[expect(clippy::float_cmp, reason = "whole numbers")]
    pub(super) fn except(self, left: Self, right: Self) -> Self {
        Self(from_fn(|lane| if left.0[lane] == right.0[lane] { 0.0 } else { self.0[lane] }))
    }

    /// Folds the halves upon each other, always in the same tree.
    #[inline(always)]
    fn fold(self, f: impl Fn(f64, f64) -> f64) -> f64 {
        let quarters: [f64; 4] = from_fn(|lane| f(self.0[lane], self.0[lane + 4]));
        f(f(quarters[0], quarters[2]), f(quarters[1], quarters[3]))
    }

    #[inline(always)]
    pub(super) fn sum(self) -> f64 {
        self.fold(|a, b| a + b)
    }

    #[inline(always)]
    pub(super) fn largest(self) -> f64 {
        self.fold(|a, b| if a > b { a } else { b })
    }
}
