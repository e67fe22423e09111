//! Exponents of atoms: fractions of machine integers.

use std::cmp::Ordering;
use std::ops::Neg;

use dashu::Rational;

/// A fraction in lowest terms with a positive denominator.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Exponent {
    numerator: i64,
    denominator: i64,
}

impl Exponent {
    pub(crate) const ONE: Self = Self { numerator: 1, denominator: 1 };

    /// The fraction in lowest terms, if its denominator is not 0 and both parts fit.
    fn of(numerator: i128, denominator: i128) -> Option<Self> {
        let (mut a, mut b) = (numerator, denominator);
        while b != 0 {
            (a, b) = (b, a % b);
        }
        let divisor = if (a < 0) == (denominator < 0) { a } else { -a };
        let part = |value: i128| i64::try_from(value.checked_div(divisor)?).ok();
        Some(Self { numerator: part(numerator)?, denominator: part(denominator)? })
    }

    /// `numerator / denominator`.
    pub(crate) fn new(numerator: i64, denominator: i64) -> Option<Self> {
        Self::of(numerator.into(), denominator.into())
    }

    pub(crate) fn numerator(self) -> i64 {
        self.numerator
    }

    pub(crate) fn denominator(self) -> i64 {
        self.denominator
    }

    /// The whole number, if it is one.
    pub(crate) fn integer(self) -> Option<i64> {
        (self.denominator == 1).then_some(self.numerator)
    }

    /// Whole turns of a positive modulus, rounded down, and what is left.
    pub(crate) fn turns(self, modulus: i64) -> (i64, Self) {
        let turn = self.denominator.saturating_mul(modulus);
        let (turns, numerator) = (self.numerator.div_euclid(turn), self.numerator.rem_euclid(turn));
        (turns, Self { numerator, denominator: self.denominator })
    }

    pub(crate) fn checked_add(self, other: Self) -> Option<Self> {
        if let (Some(a), Some(b)) = (self.integer(), other.integer()) {
            return a.checked_add(b).map(Self::from);
        }
        let numerator =
            product(self.numerator, other.denominator) + product(other.numerator, self.denominator);
        Self::of(numerator, product(self.denominator, other.denominator))
    }

    pub(crate) fn checked_mul(self, other: Self) -> Option<Self> {
        Self::of(
            product(self.numerator, other.numerator),
            product(self.denominator, other.denominator),
        )
    }
}

fn product(a: i64, b: i64) -> i128 {
    i128::from(a) * i128::from(b)
}

impl From<i64> for Exponent {
    fn from(numerator: i64) -> Self {
        Self { numerator, denominator: 1 }
    }
}

impl From<Exponent> for Rational {
    fn from(exponent: Exponent) -> Self {
        Self::from_parts_signed(exponent.numerator.into(), exponent.denominator.into())
    }
}

impl Neg for Exponent {
    type Output = Self;

    fn neg(self) -> Self {
        Self { numerator: -self.numerator, denominator: self.denominator }
    }
}

impl Ord for Exponent {
    fn cmp(&self, other: &Self) -> Ordering {
        let left = product(self.numerator, other.denominator);
        left.cmp(&product(other.numerator, self.denominator))
    }
}

impl PartialOrd for Exponent {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
