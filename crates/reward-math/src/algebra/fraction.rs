//! Fractions of polynomials.

use num_rational::BigRational;
use num_traits::One;

use super::polynomial::Polynomial;

/// A fraction whose denominator is 1 or a sum with leading coefficient 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fraction {
    pub(crate) numerator: Polynomial,
    pub(crate) denominator: Polynomial,
}

impl From<Polynomial> for Fraction {
    fn from(numerator: Polynomial) -> Self {
        Self { numerator, denominator: Polynomial::constant(BigRational::one()) }
    }
}

impl Fraction {
    pub(crate) fn zero() -> Self {
        Self::from(Polynomial::zero())
    }

    pub(crate) fn one() -> Self {
        Self::constant(BigRational::one())
    }

    pub(crate) fn constant(value: BigRational) -> Self {
        Self::from(Polynomial::constant(value))
    }

    pub(crate) fn negated(&self) -> Self {
        self.scaled(&-BigRational::one())
    }

    pub(crate) fn scaled(&self, factor: &BigRational) -> Self {
        Self { numerator: self.numerator.scaled(factor), denominator: self.denominator.clone() }
    }

    /// The polynomial, if the denominator is 1.
    pub(crate) fn as_polynomial(&self) -> Option<&Polynomial> {
        self.denominator.as_constant().is_some().then_some(&self.numerator)
    }

    /// The value, if it is a rational number.
    pub(crate) fn as_constant(&self) -> Option<BigRational> {
        self.as_polynomial()?.as_constant()
    }
}
