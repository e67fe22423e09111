//! Equations and inequalities that are multiples of each other.

use dashu::Rational;
use dashu::base::Signed;

use crate::algebra::{Algebra, Fraction, Polynomial, Result};
use crate::answer::Relation;

/// Returns true if `p REL 0` and `q REL' 0` are rational multiples of each other (positive, or reversing the relation).
pub(crate) fn proportional(
    algebra: &mut Algebra,
    (p, p_relation): (&Fraction, Relation),
    (q, q_relation): (&Fraction, Relation),
) -> Result<bool> {
    let equation =
        p_relation == q_relation && matches!(p_relation, Relation::Equal | Relation::NotEqual);
    let polynomial = |value: &Fraction| value.as_polynomial().is_some();
    if !(equation || polynomial(p) && polynomial(q)) {
        return Ok(false);
    }
    let (first, second) = (cleared(algebra, &p.numerator)?, cleared(algebra, &q.numerator)?);
    // Negative exponents may only be multiplied away in an equation.
    if !equation && (first != p.numerator || second != q.numerator) {
        return Ok(false);
    }
    let (Some(a), Some(b)) = (first.leading().cloned(), second.leading().cloned()) else {
        return Ok(first.is_zero() && second.is_zero() && p_relation == q_relation);
    };
    // A relation between constants says nothing about the variables.
    if first.as_constant().is_some() || second.as_constant().is_some() {
        return Ok(false);
    }
    let factor: Rational = a / b;
    let turned = if factor.is_negative() { q_relation.flipped() } else { q_relation };
    if p_relation != turned {
        return Ok(false);
    }
    algebra.equal(&Fraction::from(first), &Fraction::from(second.scaled(&factor)))
}

/// Returns the polynomial times the lowest powers of its atoms, so that no exponent is negative.
pub(crate) fn cleared(algebra: &mut Algebra, polynomial: &Polynomial) -> Result<Polynomial> {
    let mut lowest = std::collections::BTreeMap::new();
    let powers = polynomial.terms().flat_map(|(monomial, _)| monomial);
    for (id, exponent) in powers.filter(|(_, exponent)| exponent.is_negative()) {
        let slot = lowest.entry(*id).or_insert(exponent);
        *slot = (*slot).min(exponent);
    }
    if lowest.is_empty() {
        return Ok(polynomial.clone());
    }
    let inverse = lowest.into_iter().map(|(id, exponent)| (id, -exponent)).collect();
    let factor = Polynomial::term(inverse, Rational::ONE);
    algebra.multiply_polynomials(polynomial, &factor)
}
