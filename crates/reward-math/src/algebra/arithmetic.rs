//! Arithmetic of fractions of polynomials.

use dashu::Rational;
use dashu::base::{BitTest, Inverse, Signed};

use super::{Algebra, Fraction, Polynomial, Result};
use crate::verdict::ParseError;

impl Algebra {
    pub(crate) fn add(&mut self, left: &Fraction, right: &Fraction) -> Result<Fraction> {
        self.spend(2 * (left.numerator.len() + right.numerator.len()) as u64)?;
        for (_, coefficient) in right.numerator.terms() {
            self.spend_on(coefficient, left.numerator.leading().unwrap_or(coefficient))?;
        }
        if left.denominator == right.denominator {
            return self.fraction(left.numerator.plus(&right.numerator), &left.denominator);
        }
        let first = self.multiply_polynomials(&left.numerator, &right.denominator)?;
        let second = self.multiply_polynomials(&right.numerator, &left.denominator)?;
        let denominator = self.multiply_polynomials(&left.denominator, &right.denominator)?;
        self.fraction(first.plus(&second), &denominator)
    }

    pub(crate) fn subtract(&mut self, left: &Fraction, right: &Fraction) -> Result<Fraction> {
        self.add(left, &right.negated())
    }

    pub(crate) fn multiply(&mut self, left: &Fraction, right: &Fraction) -> Result<Fraction> {
        let numerator = self.multiply_polynomials(&left.numerator, &right.numerator)?;
        let denominator = self.multiply_polynomials(&left.denominator, &right.denominator)?;
        self.fraction(numerator, &denominator)
    }

    pub(crate) fn divide(&mut self, left: &Fraction, right: &Fraction) -> Result<Fraction> {
        let numerator = self.multiply_polynomials(&left.numerator, &right.denominator)?;
        let denominator = self.multiply_polynomials(&left.denominator, &right.numerator)?;
        self.fraction(numerator, &denominator)
    }

    /// Canonical sign and scale; a denominator of one term moves into the numerator.
    fn fraction(&mut self, numerator: Polynomial, denominator: &Polynomial) -> Result<Fraction> {
        if denominator.is_zero() {
            return Err(ParseError::Undefined { what: "division by zero".to_owned() });
        }
        if denominator.as_constant().is_some_and(|value| value.is_one()) {
            return Ok(Fraction::from(numerator));
        }
        if numerator.is_zero() {
            return Ok(Fraction::zero());
        }
        let Some((monomial, coefficient)) = denominator.single() else {
            if numerator == *denominator {
                return Ok(Fraction::one());
            }
            let scale = denominator.leading().map_or(Rational::ONE, Inverse::inv);
            for polynomial in [&numerator, denominator] {
                for (_, coefficient) in polynomial.terms() {
                    self.spend_on(coefficient, &scale)?;
                }
            }
            return Ok(Fraction {
                numerator: numerator.scaled(&scale),
                denominator: denominator.scaled(&scale),
            });
        };
        let scale = coefficient.inv();
        if let Some(leading) = numerator.leading() {
            self.spend_on(leading, &scale)?;
        }
        let inverse = monomial.iter().map(|(id, exponent)| (*id, -exponent)).collect();
        let inverse = self.reduce(inverse, scale)?;
        self.multiply_polynomials(&numerator, &inverse).map(Fraction::from)
    }

    pub(crate) fn power(&mut self, base: &Fraction, exponent: &Fraction) -> Result<Fraction> {
        let undefined = |what: &str| ParseError::Undefined { what: what.to_owned() };
        if let Some(exponent) = exponent.as_constant() {
            if base.numerator.is_zero() && exponent <= Rational::ZERO {
                return Err(undefined("zero to a power that is not positive"));
            }
            return self.rational_exponent(base, &exponent);
        }
        if base.numerator.is_zero() {
            return Err(undefined("zero to a symbolic power"));
        }
        // `2^{n+1}` is `2 \cdot 2^n`.
        let sum = exponent.as_polynomial().filter(|_| base.as_constant().is_some());
        let constant = sum.and_then(|sum| sum.terms().find(|(powers, _)| powers.is_empty()));
        if let Some(steps) = constant.map(|(_, value)| value.clone()).filter(Rational::is_int) {
            let first = self.rational_exponent(base, &steps)?;
            let rest = self.subtract(exponent, &Fraction::constant(steps))?;
            let rest = self.value_of("power", vec![base.clone(), rest]);
            return self.multiply(&first, &rest);
        }
        Ok(self.value_of("power", vec![base.clone(), exponent.clone()]))
    }

    fn rational_exponent(&mut self, base: &Fraction, exponent: &Rational) -> Result<Fraction> {
        // 1, -1 and 0 take exponents of any size.
        if exponent.is_int()
            && let Some(value) = base.as_constant()
            && (Rational::NEG_ONE..=Rational::ONE).contains(&value)
            && value.is_int()
        {
            let turned = value.is_negative() && !exponent.numerator().bit(0);
            return Ok(Fraction::constant(if turned { -value } else { value }));
        }
        let index = exponent.denominator().try_into().map_err(|_| ParseError::OutOfFuel)?;
        let root = if exponent.is_int() { base.clone() } else { self.root(base, index)? };
        let count = i64::try_from(exponent.numerator()).map_err(|_| ParseError::OutOfFuel)?;
        let top = self.raised(&root.numerator, count.unsigned_abs())?;
        let bottom = self.raised(&root.denominator, count.unsigned_abs())?;
        if count < 0 { self.fraction(bottom, &top) } else { self.fraction(top, &bottom) }
    }
}
