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

    /// Itself as `f64`, exactly.
    fn to_f64(self) -> f64;

    /// Returns true if it is neither NaN nor infinite.
    fn finite(self) -> bool;

    /// Absolute argument up to which the result of [`exp`](Self::exp) is neither 0 nor infinite.
    const EXP_LIMIT: Self;

    /// `e^self` to about one unit in the last place, straight-line code that the compiler turns into
    /// vector instructions. The argument is clamped to where the result is neither 0 nor infinite.
    #[must_use]
    #[inline(always)]
    fn exp(self) -> Self {
        self.held(-Self::EXP_LIMIT, Self::EXP_LIMIT).exp_within()
    }

    /// Exponential of an argument known to be within ±[`EXP_LIMIT`](Self::EXP_LIMIT); of another it is any number.
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

    /// Clamps it to `low..=high`.
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
    /// Keeps [`Real`](super::Real) to `f32` and `f64`.
    pub trait Sealed {
        /// Bits of a magnitude, ordered as magnitudes are: unlike these, a run's largest is found in vectors.
        type Bits: Copy + Ord;

        /// Bits of the significand, the implied one among them.
        const SIGNIFICAND_BITS: i32;

        fn magnitude_bits(self) -> Self::Bits;

        /// Orders all but 0 as magnitudes; 0 comes last.
        fn nonzero_magnitude_bits(self) -> Self::Bits;
    }
}

/// Implements [`Real`] for a float. `e^x = 2^k e^r` with `abs(r) <= ln 2 / 2`: adding `round`, 1.5 units of the significand's
/// lowest place, rounds to the integer `k` and leaves it in the low bits; `ln_2` is Cody and Waite's in two parts, and
/// `series` a polynomial of `r`, highest power first, which is the fewest instructions: other tokens fill the wait between them.
macro_rules! real {
    ($real:ident, $bits:ident, of: $of:path, limit: $limit:literal, round: $round:literal, ln_2: ($high:literal, $low:literal), series: $series:expr) => {
        impl sealed::Sealed for $real {
            type Bits = $bits;

            const SIGNIFICAND_BITS: i32 = $real::MANTISSA_DIGITS.cast_signed();

            #[inline(always)]
            fn magnitude_bits(self) -> $bits {
                self.abs().to_bits()
            }

            #[inline(always)]
            fn nonzero_magnitude_bits(self) -> $bits {
                self.magnitude_bits().wrapping_sub(1)
            }
        }

        impl Real for $real {
            const EXP_LIMIT: Self = $limit;

            #[inline(always)]
            fn of(x: f64) -> Self {
                $of(x)
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

            #[inline(always)]
            fn exp_within(self) -> Self {
                let shifted = self.mul_add(std::$real::consts::LOG2_E, $round);
                let k = shifted - $round;
                let r = k.mul_add(-$low, k.mul_add(-$high, self));
                let [first, rest @ ..] = $series;
                let power = rest.into_iter().fold(first, |sum: Self, c| sum.mul_add(r, c));
                let exponent = shifted.to_bits() << ($real::MANTISSA_DIGITS - 1);
                Self::from_bits(power.to_bits().wrapping_add(exponent))
            }
        }
    };
}

#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "rounding to storage is the point")]
fn rounded(x: f64) -> f32 {
    x as f32
}

// `entropy-core` has another: for rows of a softmax, eight lanes at a time, x <= 0, subnormal results and all. A ratio is on both
// sides of 1 and has to stay a number up to e^709, which the other's lift out of the subnormal range does not leave room for; and
// it differs in last bits, on which recorded runs depend. Taylor to r^13, whose remainder is below 2^-57.
real!(f64, u64, of: std::convert::identity, limit: 708.0, round: 6_755_399_441_055_744.0,
ln_2: (6.931_471_803_691_238e-1, 1.908_214_929_270_587_7e-10), series: [
    1.0 / 6_227_020_800.0, 1.0 / 479_001_600.0, 1.0 / 39_916_800.0, 1.0 / 3_628_800.0, 1.0 / 362_880.0,
    1.0 / 40_320.0, 1.0 / 5_040.0, 1.0 / 720.0, 1.0 / 120.0, 1.0 / 24.0, 1.0 / 6.0, 0.5, 1.0, 1.0f64,
]);

// Of 1 + r + r² p(r) the p of degree 4 whose largest error is the smallest, 3e-9: Taylor's needs a term more.
real!(f32, u32, of: rounded, limit: 80.0, round: 12_582_912.0, ln_2: (0.693_359_4, -2.121_944_4e-4), series: [
    1.381_454e-3, 8.368_746e-3, 4.166_839e-2, 0.166_665_2, 0.499_999_94, 1.0, 1.0f32,
]);
