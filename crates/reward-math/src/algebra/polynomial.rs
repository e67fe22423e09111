//! Polynomials with rational coefficients and rational exponents of atoms, and their fractions.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use dashu::base::Gcd;
use dashu::{Natural, Rational};

/// Atoms with their exponents, ordered by atom, no exponent zero.
pub(crate) type Monomial = Vec<(u32, Rational)>;

/// A sum of monomials with non-zero coefficients.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Polynomial(BTreeMap<Monomial, Rational>);

impl Polynomial {
    pub(crate) fn zero() -> Self {
        Self(BTreeMap::new())
    }

    pub(crate) fn constant(value: Rational) -> Self {
        Self::term(Vec::new(), value)
    }

    pub(crate) fn term(monomial: Monomial, coefficient: Rational) -> Self {
        let mut terms = BTreeMap::new();
        if !coefficient.is_zero() {
            terms.insert(monomial, coefficient);
        }
        Self(terms)
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn terms(&self) -> impl Iterator<Item = (&Monomial, &Rational)> {
        self.0.iter()
    }

    /// The only term, if there is exactly one.
    pub(crate) fn single(&self) -> Option<(&Monomial, &Rational)> {
        if self.0.len() == 1 { self.0.first_key_value() } else { None }
    }

    /// The value, if there is no atom.
    pub(crate) fn as_constant(&self) -> Option<Rational> {
        if self.is_zero() {
            return Some(Rational::ZERO);
        }
        self.single().filter(|(monomial, _)| monomial.is_empty()).map(|(_, value)| value.clone())
    }

    /// Coefficient of the last monomial.
    pub(crate) fn leading(&self) -> Option<&Rational> {
        self.0.last_key_value().map(|(_, coefficient)| coefficient)
    }

    pub(crate) fn scaled(&self, factor: &Rational) -> Self {
        if factor.is_zero() {
            return Self::zero();
        }
        Self(self.0.iter().map(|(monomial, c)| (monomial.clone(), c * factor)).collect())
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.add(other);
        sum
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (monomial, coefficient) in &other.0 {
            self.accumulate(monomial.clone(), coefficient.clone());
        }
    }

    pub(super) fn accumulate(&mut self, monomial: Monomial, coefficient: Rational) {
        match self.0.entry(monomial) {
            Entry::Vacant(place) => {
                if !coefficient.is_zero() {
                    place.insert(coefficient);
                }
            }
            Entry::Occupied(mut place) => {
                *place.get_mut() += coefficient;
                if place.get().is_zero() {
                    place.remove();
                }
            }
        }
    }
}

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

/// The positive rational that divides all values and leaves coprime integers; 1 where all are 0.
pub(crate) fn content<'a>(values: impl Iterator<Item = &'a Rational>) -> Rational {
    let (mut top, mut bottom) = (Natural::ZERO, Natural::ONE);
    for value in values.filter(|value| !value.is_zero()) {
        top = (&top).gcd(value.numerator());
        bottom = &bottom / (&bottom).gcd(value.denominator()) * value.denominator();
    }
    if top.is_zero() { Rational::ONE } else { Rational::from_parts(top.into(), bottom) }
}
