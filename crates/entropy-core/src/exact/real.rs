//! The numbers that the exact sums are taken in.

use super::factorial::INVERSE_FACTORIALS;
use crate::summation;
use std::ops::{Add, Mul, Neg, Sub};

/// A number type with what the sums of [`Expansion`](super::Expansion) need.
pub(crate) trait Real:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// How large a result must be, as a share of the terms it was summed from, to be right to 8e-14 of itself.
    const SMALLEST_SHARE: f64;
    /// Below this a result may have lost digits to the end of the number range.
    const SMALLEST: f64;
    /// Rounding of `e^y`, in units of that of one operation, for each unit of `y`: whether differences of logits
    /// are rounded.
    const GAP_ROUNDING: f64;

    /// This number.
    fn of(value: f64) -> Self;
    /// `a - b`.
    fn difference(a: f64, b: f64) -> Self;
    /// The nearest `f64`.
    fn nearest(self) -> f64;
    /// `e^x - 1`.
    fn exp_m1(self) -> Self;
    /// `e^x - 1 - x`.
    fn exp_tail(self) -> Self;
    /// `ln(1 + x)`.
    fn ln_1p(self) -> Self;
    /// The sum of all; 0 of none.
    fn sum(terms: impl Iterator<Item = Self>) -> Self;
}

/// Eight roundings of 2⁻⁵³ a term.
impl Real for f64 {
    const SMALLEST_SHARE: f64 = 8.0 * 0.5 * f64::EPSILON / 8e-14;
    const SMALLEST: f64 = 0.0;
    const GAP_ROUNDING: f64 = 0.125;

    fn of(value: f64) -> Self {
        value
    }

    fn difference(a: f64, b: f64) -> Self {
        a - b
    }

    fn nearest(self) -> f64 {
        self
    }

    fn exp_m1(self) -> Self {
        f64::exp_m1(self)
    }

    fn exp_tail(self) -> Self {
        if self.abs() > 0.5 {
            return f64::exp_m1(self) - self;
        }
        let (mut power, mut sum) = (self, 0.0);
        for (inverse_factorial, _) in INVERSE_FACTORIALS {
            power *= self;
            let term = power * inverse_factorial;
            sum += term;
            if term.abs() <= 1e-17 * sum {
                break;
            }
        }
        sum
    }

    fn ln_1p(self) -> Self {
        f64::ln_1p(self)
    }

    fn sum(terms: impl Iterator<Item = Self>) -> Self {
        summation::sum(terms)
    }
}
