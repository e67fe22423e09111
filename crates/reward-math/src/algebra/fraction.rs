//! Fractions of polynomials.

use dashu::Rational;

use super::polynomial::Polynomial;

/// A fraction whose denominator is 1 or a sum with leading coefficient 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Fraction {
    pub(crate) numerator: Polynomial,
    pub(crate) denominator: Polynomial,
}

impl From<Polynomial> for Fraction {
    fn from(numerator: Polynomial) -> Self {
        Self { numerator, denominator: Polynomial::constant(Rational::ONE) }
    }
}

impl Fraction {
    pub(crate) fn zero() -> Self {
        Self::from(Polynomial::zero())
    }

    pub(crate) fn one() -> Self {
        Self::constant(Rational::ONE)
    }

    pub(crate) fn constant(value: Rational) -> Self {
        Self::from(Polynomial::constant(value))
    }

    pub(crate) fn negated(&self) -> Self {
        self.scaled(&Rational::NEG_ONE)
    }

    pub(crate) fn scaled(&self, factor: &Rational) -> Self {
        Self { numerator: self.numerator.scaled(factor), denominator: self.denominator.clone() }
    }

    /// The polynomial, if the denominator is 1.
    pub(crate) fn as_polynomial(&self) -> Option<&Polynomial> {
        self.denominator.as_constant().is_some().then_some(&self.numerator)
    }

    /// The value, if it is a rational number.
    pub(crate) fn as_constant(&self) -> Option<Rational> {
        self.as_polynomial()?.as_constant()
    }
}
