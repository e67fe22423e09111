//! Products and powers of polynomials, with every atom's rule applied.

use dashu::base::{BitTest, Inverse, UnsignedAbs};
use dashu::{Natural, Rational};

use super::polynomial::multiply;
use super::{Algebra, Atom, Exponent, MAX_BITS, Monomial, Polynomial, Result, bits};
use crate::verdict::ParseError;

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
        let mut product = Polynomial::zero();
        for (left_monomial, left_coefficient) in left.terms() {
            for (right_monomial, right_coefficient) in right.terms() {
                self.spend_on(left_coefficient, right_coefficient)?;
                let coefficient = multiply(left_coefficient, right_coefficient);
                let merged = self.merge(left_monomial, right_monomial)?;
                let (monomial, coefficient) = self.reduced(merged, coefficient)?;
                product.accumulate(monomial, coefficient);
            }
        }
        Ok(product)
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
        let mut merged = Monomial::with_capacity(left.len() + right.len());
        let (mut a, mut b) = (left.iter().copied().peekable(), right.iter().copied().peekable());
        loop {
            let next = match (a.peek(), b.peek()) {
                (Some(x), Some(y)) if x.0 > y.0 => b.next(),
                (Some(x), Some(y)) if x.0 == y.0 => {
                    let sum = x.1.checked_add(y.1).ok_or(ParseError::OutOfFuel)?;
                    b.next();
                    a.next().map(|(id, _)| (id, sum))
                }
                (Some(_), _) => a.next(),
                (None, _) => b.next(),
            };
            let Some((id, exponent)) = next else { return Ok(merged) };
            if exponent.numerator().unsigned_abs() > 1 << 40 || exponent.denominator() > 1 << 20 {
                return Err(ParseError::OutOfFuel);
            }
            if exponent.numerator() != 0 {
                merged.push((id, exponent));
            }
        }
    }

    /// Brings exponents of primes into `[0, 1)` and those of `i` into `[0, 2)`.
    fn reduced(
        &mut self,
        monomial: Monomial,
        coefficient: Rational,
    ) -> Result<(Monomial, Rational)> {
        let (mut coefficient, mut kept) = (coefficient, Monomial::with_capacity(monomial.len()));
        for (id, exponent) in monomial {
            let modulus = match self.atom(id) {
                Atom::Prime(_) => 1,
                Atom::Imaginary => 2,
                _ => {
                    kept.push((id, exponent));
                    continue;
                }
            };
            let (turns, rest) = exponent.turns(modulus);
            match self.atom(id) {
                Atom::Prime(prime) if turns != 0 => {
                    let prime = prime.clone();
                    let factor = Rational::from(self.integer_power(&prime, turns.unsigned_abs())?);
                    self.spend_on(&coefficient, &factor)?;
                    let factor = if turns < 0 { factor.inv() } else { factor };
                    coefficient = multiply(&coefficient, &factor);
                }
                Atom::Imaginary if turns % 2 != 0 => coefficient = -coefficient,
                _ => {}
            }
            if rest.numerator() != 0 {
                kept.push((id, rest));
            }
        }
        Ok((kept, coefficient))
    }

    /// Returns the term with reduced exponents.
    pub(super) fn reduce(
        &mut self,
        monomial: Monomial,
        coefficient: Rational,
    ) -> Result<Polynomial> {
        let (monomial, coefficient) = self.reduced(monomial, coefficient)?;
        Ok(Polynomial::term(monomial, coefficient))
    }

    pub(super) fn polynomial_power(
        &mut self,
        base: &Polynomial,
        exponent: u64,
    ) -> Result<Polynomial> {
        if let Some((monomial, coefficient)) = base.single()
            && exponent > 1
        {
            let count = i64::try_from(exponent).map_err(|_| ParseError::OutOfFuel)?;
            let power = self.rational_power(coefficient, exponent)?;
            let mut raised = Monomial::new();
            for (id, old) in monomial {
                let numerator = old.numerator().checked_mul(count).ok_or(ParseError::OutOfFuel)?;
                if numerator.unsigned_abs() > 1 << 40 {
                    return Err(ParseError::OutOfFuel);
                }
                let exponent = Exponent::new(numerator, old.denominator());
                raised.push((*id, exponent.ok_or(ParseError::OutOfFuel)?));
            }
            return self.reduce(raised, power);
        }
        // A binomial to this power already costs more than any answer.
        if exponent > 400 && base.len() > 1 {
            return Err(ParseError::OutOfFuel);
        }
        let (mut result, mut square) = (Polynomial::constant(Rational::ONE), base.clone());
        let mut left = exponent;
        while left > 0 {
            if left & 1 == 1 {
                result = self.multiply_polynomials(&result, &square)?;
            }
            left >>= 1;
            if left > 0 {
                square = self.multiply_polynomials(&square, &square.clone())?;
            }
        }
        Ok(result)
    }

    fn rational_power(&mut self, base: &Rational, exponent: u64) -> Result<Rational> {
        for part in [base.numerator().unsigned_abs(), base.denominator().clone()] {
            self.spend_on_power(&part, exponent)?;
        }
        Ok(base.pow(isize::try_from(exponent).map_err(|_| ParseError::OutOfFuel)?))
    }

    fn integer_power(&mut self, base: &Natural, exponent: u64) -> Result<Natural> {
        self.spend_on_power(base, exponent)?;
        Ok(base.pow(usize::try_from(exponent).map_err(|_| ParseError::OutOfFuel)?))
    }

    /// Pays for a power of an integer.
    fn spend_on_power(&mut self, base: &Natural, exponent: u64) -> Result<()> {
        if base.is_zero() || base.is_one() {
            return Ok(());
        }
        let size = (base.bit_len() as u64).checked_mul(exponent).filter(|&size| size <= MAX_BITS);
        let size = size.ok_or(ParseError::OutOfFuel)?;
        self.spend((size * size) >> 18)
    }
}
