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
                let (monomial, clean) = self.merge(left_monomial, right_monomial)?;
                if clean {
                    product.accumulate(monomial, coefficient);
                } else {
                    for (monomial, coefficient) in self.reduce(monomial, coefficient)?.into_terms()
                    {
                        product.accumulate(monomial, coefficient);
                    }
                }
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

    /// Multiplies monomials by adding exponents; the flag is true if no atom needs reducing.
    fn merge(&mut self, left: &Monomial, right: &Monomial) -> Result<(Monomial, bool)> {
        self.spend(1 + (left.len() + right.len()) as u64 / 2)?;
        let mut merged = Monomial::with_capacity(left.len() + right.len());
        let (mut a, mut b) = (left.iter().peekable(), right.iter().peekable());
        let mut clean = true;
        loop {
            let (id, exponent) = match (a.peek(), b.peek()) {
                (None, None) => return Ok((merged, clean)),
                (Some(x), Some(y)) if x.0 == y.0 => {
                    let exponent = x.1.checked_add(y.1).ok_or(ParseError::OutOfFuel)?;
                    let id = x.0;
                    a.next();
                    b.next();
                    (id, exponent)
                }
                (Some(x), Some(y)) if x.0 > y.0 => {
                    let taken = (y.0, y.1);
                    b.next();
                    taken
                }
                (Some(x), _) => {
                    let taken = (x.0, x.1);
                    a.next();
                    taken
                }
                (None, Some(y)) => {
                    let taken = (y.0, y.1);
                    b.next();
                    taken
                }
            };
            if exponent.numerator().unsigned_abs() > 1 << 40 || exponent.denominator() > 1 << 20 {
                return Err(ParseError::OutOfFuel);
            }
            if exponent.numerator() != 0 {
                clean &= self.modulus(id).is_none_or(|modulus| exponent.turns(modulus).0 == 0);
                merged.push((id, exponent));
            }
        }
    }

    /// Returns the exponent from which on powers of the atom are rewritten.
    fn modulus(&self, id: u32) -> Option<i64> {
        match self.atom(id) {
            Atom::Prime(_) | Atom::Base(_) => Some(1),
            Atom::Imaginary | Atom::Absolute(_) | Atom::Sine(_) => Some(2),
            Atom::Power(base, _) if base.as_constant().is_some_and(|b| b == Rational::NEG_ONE) => {
                Some(2)
            }
            _ => None,
        }
    }

    /// Brings every exponent below its modulus. Negative powers of sums never arise: division removes them.
    pub(super) fn reduce(
        &mut self,
        monomial: Monomial,
        coefficient: Rational,
    ) -> Result<Polynomial> {
        let mut coefficient = coefficient;
        let mut kept = Monomial::new();
        let mut extra: Vec<(Polynomial, u64)> = Vec::new();
        for (id, exponent) in monomial {
            let Some(modulus) = self.modulus(id) else {
                kept.push((id, exponent));
                continue;
            };
            let (turns, rest) = exponent.turns(modulus);
            let times = turns.unsigned_abs();
            match self.atom(id).clone() {
                Atom::Prime(prime) => {
                    let power = self.integer_power(&prime, times)?;
                    let factor = Rational::from(power);
                    self.spend_on(&coefficient, &factor)?;
                    let factor = if turns < 0 { factor.inv() } else { factor };
                    coefficient = multiply(&coefficient, &factor);
                }
                Atom::Imaginary if turns % 2 != 0 => coefficient = -coefficient,
                Atom::Base(base) => extra.push((base, times)),
                Atom::Absolute(inner) => extra.push((inner, 2 * times)),
                Atom::Sine(argument) => {
                    let cosine = self.intern(Atom::Cosine(argument));
                    let square = vec![(cosine, Exponent::from(2))];
                    let one = Polynomial::constant(Rational::ONE);
                    extra.push((one.plus(&Polynomial::term(square, Rational::NEG_ONE)), times));
                }
                _ => {}
            }
            if rest.numerator() != 0 {
                kept.push((id, rest));
            }
        }
        let mut result = Polynomial::term(kept, coefficient);
        for (factor, times) in extra {
            let power = self.polynomial_power(&factor, times)?;
            result = self.multiply_polynomials(&result, &power)?;
        }
        Ok(result)
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

    pub(super) fn rational_power(&mut self, base: &Rational, exponent: u64) -> Result<Rational> {
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
