//! Polynomials with rational coefficients and rational exponents of atoms.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::{BigRational, Ratio};
use num_traits::{One, Zero};

/// Exponent of an atom.
pub(crate) type Exponent = Ratio<i64>;
/// Atoms with their exponents, ordered by atom, no exponent zero.
pub(crate) type Monomial = Vec<(u32, Exponent)>;

/// A sum of monomials with non-zero coefficients.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Polynomial(BTreeMap<Monomial, BigRational>);

impl Polynomial {
    pub(crate) fn zero() -> Self {
        Self(BTreeMap::new())
    }

    pub(crate) fn constant(value: BigRational) -> Self {
        Self::term(Vec::new(), value)
    }

    pub(crate) fn term(monomial: Monomial, coefficient: BigRational) -> Self {
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

    pub(crate) fn terms(&self) -> impl Iterator<Item = (&Monomial, &BigRational)> {
        self.0.iter()
    }

    /// The only term, if there is exactly one.
    pub(crate) fn single(&self) -> Option<(&Monomial, &BigRational)> {
        if self.0.len() == 1 { self.0.first_key_value() } else { None }
    }

    /// The value, if there is no atom.
    pub(crate) fn as_constant(&self) -> Option<BigRational> {
        if self.is_zero() {
            return Some(BigRational::zero());
        }
        self.single().filter(|(monomial, _)| monomial.is_empty()).map(|(_, value)| value.clone())
    }

    /// Coefficient of the last monomial.
    pub(crate) fn leading(&self) -> Option<&BigRational> {
        self.0.last_key_value().map(|(_, coefficient)| coefficient)
    }

    pub(crate) fn scaled(&self, factor: &BigRational) -> Self {
        if factor.is_zero() {
            return Self::zero();
        }
        Self(self.0.iter().map(|(monomial, c)| (monomial.clone(), multiply(c, factor))).collect())
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.add(other);
        sum
    }

    /// Adds another polynomial to this one.
    pub(crate) fn add(&mut self, other: &Self) {
        for (monomial, coefficient) in &other.0 {
            self.accumulate(monomial.clone(), coefficient.clone());
        }
    }

    /// The terms, each on its own.
    pub(super) fn into_terms(self) -> impl Iterator<Item = (Monomial, BigRational)> {
        self.0.into_iter()
    }

    /// Adds one term.
    pub(super) fn accumulate(&mut self, monomial: Monomial, coefficient: BigRational) {
        use std::collections::btree_map::Entry;
        match self.0.entry(monomial) {
            Entry::Vacant(slot) => {
                if !coefficient.is_zero() {
                    slot.insert(coefficient);
                }
            }
            Entry::Occupied(mut slot) => {
                let sum = add(slot.get(), &coefficient);
                *slot.get_mut() = sum;
                if slot.get().is_zero() {
                    slot.remove();
                }
            }
        }
    }

    /// The positive rational that divides all coefficients and leaves coprime integers.
    pub(crate) fn content(&self) -> BigRational {
        let (mut top, mut bottom) = (BigInt::zero(), BigInt::one());
        for coefficient in self.0.values() {
            top = top.gcd(coefficient.numer());
            bottom = bottom.lcm(coefficient.denom());
        }
        if top.is_zero() { BigRational::one() } else { BigRational::new(top, bottom) }
    }
}

/// The product, without a common divisor where both are integers.
pub(super) fn multiply(left: &BigRational, right: &BigRational) -> BigRational {
    if left.is_integer() && right.is_integer() {
        BigRational::from_integer(left.numer() * right.numer())
    } else {
        left * right
    }
}

/// The sum, without a common divisor where both are integers.
fn add(left: &BigRational, right: &BigRational) -> BigRational {
    if left.is_integer() && right.is_integer() {
        BigRational::from_integer(left.numer() + right.numer())
    } else {
        left + right
    }
}
