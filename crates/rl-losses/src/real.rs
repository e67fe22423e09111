//! The number a column is stored in: `f64`, or `f32` to move half the memory.

use std::{
    fmt,
    ops::{Add, Div, Mul, Neg, Sub},
};

/// A floating-point number that columns can hold. Statistics are reduced in `f64` whatever it is.
pub trait Real:
    sealed::Sealed
    + Copy
    + Default
    + PartialEq
    + PartialOrd
    + fmt::Debug
    + fmt::Display
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + 'static
{
    /// Nearest number to `x`.
    fn of(x: f64) -> Self;

    /// The same number.
    fn to_f64(self) -> f64;

    /// Whether it is neither NaN nor infinite.
    fn finite(self) -> bool;

    /// The result of [`exp`](Self::exp) is neither 0 nor infinite up to here and down to minus this.
    const EXP_LIMIT: Self;

    /// `e^self` to about one unit in the last place, straight-line code that the compiler turns into
    /// vector instructions. The argument is held where the result is neither 0 nor infinite.
    #[must_use]
    #[inline(always)]
    fn exp(self) -> Self {
        self.held(-Self::EXP_LIMIT, Self::EXP_LIMIT).exp_within()
    }

    /// The same of an argument known to be within ±[`EXP_LIMIT`](Self::EXP_LIMIT); of another it is any number.
    #[must_use]
    fn exp_within(self) -> Self;

    /// Square root.
    #[must_use]
    fn sqrt(self) -> Self;

    /// The smaller of two numbers.
    #[must_use]
    #[inline(always)]
    fn lesser(self, other: Self) -> Self {
        if self < other { self } else { other }
    }

    /// The larger of two numbers.
    #[must_use]
    #[inline(always)]
    fn greater(self, other: Self) -> Self {
        if self > other { self } else { other }
    }

    /// Held to `low..=high`.
    #[must_use]
    #[inline(always)]
    fn held(self, low: Self, high: Self) -> Self {
        self.greater(low).lesser(high)
    }

    /// Absolute value.
    #[must_use]
    fn magnitude(self) -> Self;
}

mod sealed {
    use std::ops::BitOr;

    /// What is nobody else's business.
    pub trait Sealed {
        /// Bits of a magnitude, ordered as magnitudes are: unlike these, a run's largest or least is found in vectors.
        type Bits: Copy + Ord + BitOr<Output = Self::Bits>;

        /// Integers in the order of the numbers, 0 after its negative.
        type Ordered: Copy + Ord;

        /// Bits of the significand, the implied one among them.
        const SIGNIFICAND_BITS: i32;

        fn magnitude_bits(self) -> Self::Bits;

        /// The same order of all but 0, which comes last.
        fn nonzero_magnitude_bits(self) -> Self::Bits;

        /// The bits in which two numbers differ.
        fn differing(self, other: Self) -> Self::Bits;

        fn to_ordered(self) -> Self::Ordered;

        fn from_ordered(ordered: Self::Ordered) -> Self;
    }

    macro_rules! seal {
        ($real:ident as $bits:ident or $ordered:ident) => {
            impl Sealed for $real {
                type Bits = $bits;

                type Ordered = $ordered;

                const SIGNIFICAND_BITS: i32 = $real::MANTISSA_DIGITS.cast_signed();

                #[inline(always)]
                fn magnitude_bits(self) -> $bits {
                    self.abs().to_bits()
                }

                #[inline(always)]
                fn nonzero_magnitude_bits(self) -> $bits {
                    self.magnitude_bits().wrapping_sub(1)
                }

                #[inline(always)]
                fn differing(self, other: Self) -> $bits {
                    self.to_bits() ^ other.to_bits()
                }

                // The magnitudes of negative numbers are turned round, and back.
                #[inline(always)]
                fn to_ordered(self) -> $ordered {
                    let bits = self.to_bits().cast_signed();
                    bits ^ ((bits >> ($ordered::BITS - 1)) & $ordered::MAX)
                }

                #[inline(always)]
                fn from_ordered(ordered: $ordered) -> Self {
                    let bits = ordered ^ ((ordered >> ($ordered::BITS - 1)) & $ordered::MAX);
                    Self::from_bits(bits.cast_unsigned())
                }
            }
        };
    }

    seal!(f32 as u32 or i32);
    seal!(f64 as u64 or i64);
}

impl Real for f64 {
    #[inline(always)]
    fn of(x: f64) -> Self {
        x
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        self
    }

    #[inline(always)]
    fn finite(self) -> bool {
        self.is_finite()
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Self::sqrt(self)
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }

    // `entropy-core` has another: for rows of a softmax, eight lanes at a time, x <= 0, subnormal results
    // and all. A ratio is on both sides of 1 and has to stay a number up to e^709, which the other's lift
    // out of the subnormal range does not leave room for; and it differs in last bits, on which recorded
    // runs depend.
    const EXP_LIMIT: Self = 708.0;

    #[inline(always)]
    fn exp_within(self) -> Self {
        // e^x = 2^k e^r with |r| <= ln 2 / 2; adding 1.5 · 2^52 rounds to the integer k and leaves it in
        // the low bits. Cody and Waite's two-part ln 2; Taylor to r^13, whose remainder is below 2^-57.
        const ROUND: f64 = 6_755_399_441_055_744.0;
        const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
        const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
        let x = self;
        let shifted = x.mul_add(std::f64::consts::LOG2_E, ROUND);
        let k = shifted - ROUND;
        let r = k.mul_add(-LN_2_LOW, k.mul_add(-LN_2_HIGH, x));
        let tail = 1.0 / 6_227_020_800.0;
        let series = [
            1.0 / 479_001_600.0,
            1.0 / 39_916_800.0,
            1.0 / 3_628_800.0,
            1.0 / 362_880.0,
            1.0 / 40_320.0,
            1.0 / 5_040.0,
            1.0 / 720.0,
            1.0 / 120.0,
            1.0 / 24.0,
            1.0 / 6.0,
            0.5,
            1.0,
            1.0,
        ];
        let power = series.into_iter().fold(tail, |sum: f64, c| sum.mul_add(r, c));
        Self::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << 52))
    }
}

impl Real for f32 {
    #[inline(always)]
    #[expect(clippy::cast_possible_truncation, reason = "rounding to storage is the point")]
    fn of(x: f64) -> Self {
        x as Self
    }

    #[inline(always)]
    fn to_f64(self) -> f64 {
        f64::from(self)
    }

    #[inline(always)]
    fn finite(self) -> bool {
        self.is_finite()
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        Self::sqrt(self)
    }

    #[inline(always)]
    fn magnitude(self) -> Self {
        self.abs()
    }

    const EXP_LIMIT: Self = 80.0;

    #[inline(always)]
    fn exp_within(self) -> Self {
        // As of f64, but of 1 + r + r² p(r) the p of degree 4 whose largest error is the smallest, 3e-9: Taylor's needs
        // a term more. Highest power first: that is the fewest instructions, and other tokens fill the wait between them.
        const ROUND: f32 = 12_582_912.0;
        const LN_2_HIGH: f32 = 0.693_359_4;
        const LN_2_LOW: f32 = -2.121_944_4e-4;
        let shifted = self.mul_add(std::f32::consts::LOG2_E, ROUND);
        let k = shifted - ROUND;
        let r = k.mul_add(-LN_2_LOW, k.mul_add(-LN_2_HIGH, self));
        let series = [8.368_746e-3, 4.166_839e-2, 0.166_665_2, 0.499_999_94, 1.0, 1.0];
        let power = series.into_iter().fold(1.381_454e-3, |sum: Self, c| sum.mul_add(r, c));
        Self::from_bits(power.to_bits().wrapping_add(shifted.to_bits() << 23))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn exp_agrees_with_the_standard_library(x in -707.9f64..707.9, y in -79.9f32..79.9) {
            let (found, expected) = (Real::exp(x), x.exp());
            prop_assert!((found / expected - 1.0).abs() <= 2.0 * f64::EPSILON, "{found} {expected}");
            let (found, expected) = (f64::from(Real::exp(y)), f64::from(y).exp());
            prop_assert!((found / expected - 1.0).abs() <= f64::from(f32::EPSILON), "{found} {expected}");
        }
    }

    #[test]
    fn exp_of_nothing_is_one_and_no_argument_overflows() {
        assert_eq!(Real::exp(0.0f64).to_bits(), 1.0f64.to_bits());
        assert_eq!(Real::exp(0.0f32).to_bits(), 1.0f32.to_bits());
        assert!(Real::exp(f64::MAX).is_finite() && Real::exp(f64::MIN) > 0.0);
        assert!(Real::exp(f32::MAX).is_finite() && Real::exp(f32::MIN) > 0.0);
    }
}
