//! Numbers of twice the precision of `f64`: the unevaluated sum of two.
//!
//! The crate `twofloat` is no substitute: it calls its functions preliminary and has no `e^x - 1 - x`, which is what cancels here.

use super::factorial::INVERSE_FACTORIALS;
use super::real::Real;
use std::ops::{Add, Mul, Neg, Sub};

/// `ln 2` in three parts.
const LN_2: [f64; 3] =
    [std::f64::consts::LN_2, 2.319_046_813_846_299_6e-17, 5.707_708_438_416_212e-34];

/// Below this `e^x` is 0 as an `f64`.
const LOWEST_EXPONENT: f64 = -746.0;

/// Bound slightly above half of `ln 2`.
const REDUCED: f64 = 0.35;

/// Argument up to which a dozen terms of the series of the exponential are enough.
const SHORT: f64 = 0.022;

/// A number as `high + low`, with `|low|` at most half a unit in the last place of `high`: about 32 decimal digits.
///
/// Sums and products after T. J. Dekker, *A floating-point technique for extending the available precision*,
/// Numer. Math. 18 (1971); the error of each is at most 2⁻¹⁰³ of the result. No meaning beyond 10³⁰⁰ or below
/// 10⁻²⁷⁰, where the low part leaves the range of `f64`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct DoubleDouble {
    high: f64,
    low: f64,
}

/// `a + b` and its rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// [`two_sum`] for `|a| ≥ |b|`.
fn renormalised(a: f64, b: f64) -> DoubleDouble {
    let high = a + b;
    DoubleDouble { high, low: b - (high - a) }
}

impl DoubleDouble {
    pub(super) const ZERO: Self = Self { high: 0.0, low: 0.0 };
    const ONE: Self = Self::of(1.0);

    pub(super) const fn of(value: f64) -> Self {
        Self { high: value, low: 0.0 }
    }

    /// `a · b` exactly.
    fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        Self { high, low: a.mul_add(b, -high) }
    }

    pub(super) fn divided_by(self, other: Self) -> Self {
        let first = self.high / other.high;
        let rest = self - other * Self::of(first);
        let second = rest.high / other.high;
        let rest = rest - other * Self::of(second);
        renormalised(first, second) + Self::of(rest.high / other.high)
    }

    /// `self · 2^power`.
    fn scaled(self, power: i32) -> Self {
        // In two steps: the power itself may be out of range where the result is not.
        let (half, rest) = (f64::powi(2.0, power / 2), f64::powi(2.0, power - power / 2));
        Self { high: self.high * half * rest, low: self.low * half * rest }
    }

    /// `e^x`; 0 below the range of `f64`.
    pub(super) fn exp(self) -> Self {
        if self.high < LOWEST_EXPONENT {
            return Self::ZERO;
        }
        let (power, rest) = self.reduced();
        (Self::ONE + (rest + rest.reduced_tail())).scaled(power)
    }

    /// `x = power · ln 2 + rest` with `|rest| ≤ ½ ln 2`.
    #[expect(clippy::cast_possible_truncation, reason = "a power of two within the range of `f64`")]
    fn reduced(self) -> (i32, Self) {
        let power = (self.high * std::f64::consts::LOG2_E).round();
        let rest = LN_2.iter().fold(self, |rest, part| rest - Self::product(power, *part));
        (power as i32, rest)
    }

    /// `ψ(x) = e^x - 1 - x` for `|x| ≤ ½ ln 2`, by `ψ(2y) = 2ψ(y) + (y + ψ(y))²` from where the series is short.
    fn reduced_tail(self) -> Self {
        let halvings = (0..4).find(|k| self.high.abs() <= SHORT * f64::from(1 << k)).unwrap_or(4);
        let mut part = self.scaled(-halvings);
        let mut tail = part.short_tail();
        for _ in 0..halvings {
            let growth = part + tail;
            (part, tail) = (part.scaled(1), tail.scaled(1) + growth * growth);
        }
        tail
    }

    /// `Σ_{n≥2} xⁿ/n!` for `|x| ≤` [`SHORT`]; later terms are summed in `f64`, enough for 30 digits of the sum.
    fn short_tail(self) -> Self {
        let (precise, rest) = INVERSE_FACTORIALS[..12].split_at(6);
        let rest =
            rest.iter().rev().fold(0.0, |sum, (high, _)| f64::mul_add(sum, self.high, *high));
        let sum = precise
            .iter()
            .rev()
            .fold(Self::of(rest), |sum, &(high, low)| sum * self + Self { high, low });
        self * self * sum
    }
}

/// 256 roundings of 2⁻¹⁰⁴ a term, which a plain sum of a hundred thousand does not exceed by much.
impl Real for DoubleDouble {
    const SMALLEST_SHARE: f64 = 256.0 * 4.93e-32 / 8e-14;
    const SMALLEST: f64 = 1e-270;
    const GAP_ROUNDING: f64 = 0.0;

    fn of(value: f64) -> Self {
        Self::of(value)
    }

    fn difference(a: f64, b: f64) -> Self {
        let (high, low) = two_sum(a, -b);
        Self { high, low }
    }

    fn nearest(self) -> f64 {
        self.high
    }

    fn exp_m1(self) -> Self {
        if self.high.abs() <= REDUCED { self + self.reduced_tail() } else { self.exp() - Self::ONE }
    }

    fn exp_tail(self) -> Self {
        if self.high.abs() <= REDUCED { self.reduced_tail() } else { self.exp_m1() - self }
    }

    fn ln_1p(self) -> Self {
        // One step of Newton's iteration doubles the digits of the `f64` it starts from.
        let start = Self::of(self.high.ln_1p());
        let reached = start.exp_m1();
        start + (self - reached).divided_by(Self::ONE + reached)
    }

    fn sum(terms: impl Iterator<Item = Self>) -> Self {
        terms.fold(Self::ZERO, Self::add)
    }
}

impl Add for DoubleDouble {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        let (high, low) = two_sum(self.high, other.high);
        let (next, last) = two_sum(self.low, other.low);
        let sum = renormalised(high, low + next);
        renormalised(sum.high, sum.low + last)
    }
}

impl Neg for DoubleDouble {
    type Output = Self;

    fn neg(self) -> Self {
        Self { high: -self.high, low: -self.low }
    }
}

impl Sub for DoubleDouble {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self + -other
    }
}

impl Mul for DoubleDouble {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        let product = Self::product(self.high, other.high);
        let cross = self.high.mul_add(other.low, self.low * other.high);
        renormalised(product.high, product.low + cross)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exact::big::{Big, at};

    fn exact(value: DoubleDouble) -> Big {
        at(value.high, 400) + at(value.low, 400)
    }

    /// Fails unless `found` is within 2⁻⁹⁹ of `expected`.
    fn check(found: DoubleDouble, expected: &Big, what: &str) {
        let error = ((exact(found) - expected) / expected).to_f64().value();
        assert!(error.abs() < 1.6e-30, "{what}: relative error {error:e}");
    }

    /// Numbers with a low part, from 1e-20 to the ends of the range of the exponential, of both signs.
    fn arguments() -> impl Iterator<Item = DoubleDouble> {
        let sizes = (0..400).map(|i| 1e-20 * f64::powf(10.0, f64::from(i) * 22.84 / 400.0));
        sizes.flat_map(|size| {
            let value =
                DoubleDouble::of(size) * DoubleDouble::of(1.0).divided_by(DoubleDouble::of(1.1));
            [value, -value]
        })
    }

    #[test]
    fn functions_have_thirty_digits() {
        for x in arguments() {
            if x.high.abs() < 600.0 {
                check(x.exp(), &exact(x).exp(), &format!("exp {x:?}"));
                check(x.exp_m1(), &exact(x).exp_m1(), &format!("exp_m1 {x:?}"));
                check(x.exp_tail(), &(exact(x).exp_m1() - exact(x)), &format!("tail {x:?}"));
            }
            if x.high > -0.99 {
                check(x.ln_1p(), &exact(x).ln_1p(), &format!("ln_1p {x:?}"));
            }
        }
        assert_eq!(DoubleDouble::of(-1e4).exp(), DoubleDouble::ZERO);
    }

    #[test]
    fn arithmetic_has_thirty_digits() {
        let numbers: Vec<DoubleDouble> = arguments().collect();
        for (a, b) in std::iter::zip(&numbers, numbers.iter().rev()) {
            check(*a * *b, &(exact(*a) * exact(*b)), &format!("{a:?} · {b:?}"));
            check(a.divided_by(*b), &(exact(*a) / exact(*b)), &format!("{a:?} / {b:?}"));
            if exact(*a) != -exact(*b) {
                check(*a + *b, &(exact(*a) + exact(*b)), &format!("{a:?} + {b:?}"));
            }
        }
    }

    #[test]
    fn what_a_difference_of_two_numbers_rounds_away_is_kept() {
        let difference = DoubleDouble::difference(700.0, 0.1);
        assert_eq!(exact(difference), at(700.0, 400) - at(0.1, 400));
        assert!(
            difference.low != 0.0 && difference.nearest().to_bits() == (700.0f64 - 0.1).to_bits()
        );
    }
}
