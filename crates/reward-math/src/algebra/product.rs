//! Products and powers of polynomials, with every atom's rule applied.

use dashu::Rational;
use dashu::base::{BitTest, Inverse, Signed, UnsignedAbs};

use super::{Algebra, Atom, MAX_BITS, Monomial, Polynomial, Result, bits};
use crate::power::power;
use crate::verdict::ParseError;

/// Returns the product; that of integers needs no common divisors.
fn product(left: &Rational, right: &Rational) -> Rational {
    if left.is_int() && right.is_int() {
        return Rational::from(left.numerator() * right.numerator());
    }
    left * right
}

impl Algebra {
    pub(crate) fn multiply_polynomials(
        &mut self,
        left: &Polynomial,
        right: &Polynomial,
    ) -> Result<Polynomial> {
        let one = |p: &Polynomial| p.as_constant().is_some_and(|value| value.is_one());
        if one(left) {
            return Ok(right.clone());
        }
        if one(right) {
            return Ok(left.clone());
        }
        let mut sum = Polynomial::zero();
        for (left_monomial, left_coefficient) in left.terms() {
            for (right_monomial, right_coefficient) in right.terms() {
                self.spend_on(left_coefficient, right_coefficient)?;
                let coefficient = product(left_coefficient, right_coefficient);
                let merged = self.merge(left_monomial, right_monomial)?;
                let (monomial, coefficient) = self.reduced(merged, coefficient)?;
                sum.accumulate(monomial, coefficient);
            }
        }
        Ok(sum)
    }

    /// Pays for one product or sum of two rationals.
    ///
    /// Integers cost a multiplication; true fractions cost a greatest common divisor, which is quadratic in bits.
    pub(super) fn spend_on(&mut self, left: &Rational, right: &Rational) -> Result<()> {
        let (left_bits, right_bits) = (bits(left), bits(right));
        let total = left_bits + right_bits;
        if total > MAX_BITS {
            return Err(ParseError::OutOfFuel);
        }
        let are_integers = left.is_int() && right.is_int();
        self.spend(
            8 + if are_integers { (left_bits * right_bits) >> 18 } else { (total * total) >> 12 },
        )
    }

    /// Multiplies monomials by adding exponents.
    fn merge(&mut self, left: &Monomial, right: &Monomial) -> Result<Monomial> {
        self.spend(1 + (left.len() + right.len()) as u64 / 2)?;
        let mut merged = [left.as_slice(), right].concat();
        merged.sort_by_key(|(id, _)| *id);
        merged.dedup_by(|(id, exponent), (kept, sum)| {
            let same = id == kept;
            if same {
                *sum += &*exponent;
            }
            same
        });
        merged.retain(|(_, exponent)| !exponent.is_zero());
        merged.into_iter().map(|(id, exponent)| Ok((id, bounded(exponent)?))).collect()
    }

    /// Brings exponents of primes into `[0, 1)` and those of `i` into `[0, 2)`.
    fn reduced(&mut self, monomial: Monomial, factor: Rational) -> Result<(Monomial, Rational)> {
        let (mut coefficient, mut kept) = (factor, Monomial::with_capacity(monomial.len()));
        for (id, exponent) in monomial {
            let modulus = match self.atom(id) {
                Atom::Prime(_) => 1,
                Atom::Imaginary => 2,
                _ => {
                    kept.push((id, exponent));
                    continue;
                }
            };
            let turns = (&exponent / Rational::from(modulus)).floor();
            let rest = exponent - Rational::from(&turns * modulus);
            match self.atom(id) {
                Atom::Prime(prime) if !turns.is_zero() => {
                    let prime = Rational::from(prime.clone());
                    let size = u64::try_from((&turns).unsigned_abs());
                    let size = size.map_err(|_| ParseError::OutOfFuel)?;
                    let factor = self.rational_power(&prime, size)?;
                    self.spend_on(&coefficient, &factor)?;
                    let factor = if turns.is_negative() { factor.inv() } else { factor };
                    coefficient *= factor;
                }
                Atom::Imaginary if turns.bit(0) => coefficient = -coefficient,
                _ => {}
            }
            if !rest.is_zero() {
                kept.push((id, rest));
            }
        }
        Ok((kept, coefficient))
    }

    /// Returns the term with reduced exponents.
    pub(super) fn reduce(&mut self, monomial: Monomial, factor: Rational) -> Result<Polynomial> {
        let (monomial, coefficient) = self.reduced(monomial, factor)?;
        Ok(Polynomial::term(monomial, coefficient))
    }

    pub(super) fn raised(&mut self, base: &Polynomial, exponent: u64) -> Result<Polynomial> {
        if let Some((monomial, coefficient)) = base.single()
            && exponent > 1
        {
            let power = self.rational_power(coefficient, exponent)?;
            let count = Rational::from(exponent);
            let raised: Result<Monomial> =
                monomial.iter().map(|(id, old)| Ok((*id, bounded(old * &count)?))).collect();
            return self.reduce(raised?, power);
        }
        // A binomial to this power already costs more than any answer.
        if exponent > 400 && base.len() > 1 {
            return Err(ParseError::OutOfFuel);
        }
        let square = |algebra: &mut Self, base: &_| algebra.multiply_polynomials(base, base);
        let result = power(self, base.clone(), exponent, Self::multiply_polynomials, square)?;
        Ok(result.unwrap_or_else(|| Polynomial::constant(Rational::ONE)))
    }

    fn rational_power(&mut self, base: &Rational, exponent: u64) -> Result<Rational> {
        let parts = [base.numerator().unsigned_abs(), base.denominator().clone()];
        for part in parts.iter().filter(|part| !part.is_zero() && !part.is_one()) {
            let size = (part.bit_len() as u64).checked_mul(exponent);
            let size = size.filter(|&size| size <= MAX_BITS).ok_or(ParseError::OutOfFuel)?;
            self.spend((size * size) >> 18)?;
        }
        Ok(base.pow(isize::try_from(exponent).map_err(|_| ParseError::OutOfFuel)?))
    }
}

/// Returns the exponent unless it is too large, or a root of too large an index.
fn bounded(exponent: Rational) -> Result<Rational> {
    let fits = exponent.numerator().bit_len() <= 40 && exponent.denominator().bit_len() <= 20;
    if fits { Ok(exponent) } else { Err(ParseError::OutOfFuel) }
}
