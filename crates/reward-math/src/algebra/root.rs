//! Roots of rational numbers and of π and e; a root of anything else is an atom.

use dashu::base::{BitTest, Signed, UnsignedAbs};
use dashu::{Natural, Rational};

use super::{Algebra, Atom, Fraction, Monomial, Polynomial, Result};
use crate::verdict::ParseError;

/// Largest trial divisor; the remaining factor is not divided further.
const LARGEST_TRIAL: u64 = 4096;

impl Algebra {
    /// Returns the principal root, or the real one of a negative number if the index is odd.
    pub(super) fn root(&mut self, radicand: &Fraction, index: u32) -> Result<Fraction> {
        if index == 0 || index > 1000 {
            return Err(ParseError::Undefined { what: format!("root of index {index}") });
        }
        if index == 1 || radicand.numerator.is_zero() {
            return Ok(radicand.clone());
        }
        let term = radicand.as_polynomial().and_then(Polynomial::single);
        // The root of `x²` is `x` or `-x`: a root of variables stays as it is.
        let positive = |(id, _): &(u32, Rational)| match self.atom(*id) {
            Atom::Prime(_) => true,
            Atom::Symbol(name) => name == "\\pi" || name == "e",
            _ => false,
        };
        match term {
            Some((monomial, coefficient))
                if monomial.iter().all(positive) && (index < 3 || !coefficient.is_negative()) =>
            {
                let (monomial, coefficient) = (monomial.clone(), coefficient.clone());
                self.root_of_term(&monomial, &coefficient, index)
            }
            _ => Ok(self.value_of(&format!("root {index}"), vec![radicand.clone()])),
        }
    }

    fn root_of_term(
        &mut self,
        monomial: &Monomial,
        coefficient: &Rational,
        index: u32,
    ) -> Result<Fraction> {
        let mut result =
            if coefficient.is_negative() { self.of_atom(Atom::Imaginary) } else { Fraction::one() };
        let index = Rational::from(index);
        let above = self.factors(coefficient.numerator().unsigned_abs())?;
        let below = self.factors(coefficient.denominator().clone())?;
        let below = below.into_iter().map(|(prime, times)| (prime, -times));
        for (prime, times) in above.into_iter().chain(below) {
            let id = self.intern(Atom::Prime(prime));
            let term = self.reduce(vec![(id, Rational::from(times) / &index)], Rational::ONE)?;
            result = self.multiply(&result, &Fraction::from(term))?;
        }
        let exponents = monomial.iter().map(|(id, exponent)| (*id, exponent / &index)).collect();
        let rest = self.reduce(exponents, Rational::ONE)?;
        self.multiply(&result, &Fraction::from(rest))
    }

    /// Returns the prime factors of a positive integer with their exponents.
    fn factors(&mut self, mut rest: Natural) -> Result<Vec<(Natural, i64)>> {
        let mut factors = Vec::new();
        let mut divisor = 2_u64;
        while divisor <= LARGEST_TRIAL && !rest.is_one() && Natural::from(divisor * divisor) <= rest
        {
            self.spend(rest.bit_len() as u64 / 256 + u64::from(divisor % 16 == 1))?;
            let mut times = 0;
            while &rest % divisor == 0 {
                self.spend(rest.bit_len() as u64 / 64 + 1)?;
                rest /= divisor;
                times += 1;
            }
            if times > 0 {
                factors.push((Natural::from(divisor), times));
            }
            divisor += if divisor == 2 { 1 } else { 2 };
        }
        if rest.is_one() {
            return Ok(factors);
        }
        // A large square or cube is common (roots of products); higher powers are not.
        for power in [2_u8, 3] {
            let bits = rest.bit_len() as u64;
            self.spend(bits * bits / (1 << 12))?;
            let root = rest.nth_root(power.into());
            if root.pow(power.into()) == rest {
                factors.push((root, i64::from(power)));
                return Ok(factors);
            }
        }
        factors.push((rest, 1));
        Ok(factors)
    }
}

/// Returns the integer if it is at most `limit`.
pub(super) fn at_most(value: &Rational, limit: u64) -> Option<u64> {
    value.numerator().try_into().ok().filter(|&n| value.is_int() && n <= limit)
}
