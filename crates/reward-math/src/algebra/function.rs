//! Factorials, binomials and values of functions.

use dashu::Integer;
use dashu::base::{BitTest, Signed};

use super::root::at_most;
use super::{Algebra, Atom, Fraction, MAX_BITS, Result};
use crate::verdict::ParseError;

/// Largest argument of a factorial that is multiplied out.
const LARGEST_FACTORIAL: u64 = 2100;

impl Algebra {
    /// Returns the value of a function as an atom.
    pub(super) fn value_of(&mut self, name: &str, arguments: Vec<Fraction>) -> Fraction {
        self.of_atom(Atom::Function(name.to_owned(), arguments))
    }

    /// Returns the value of a function or operation, as an atom if it has no simpler form.
    pub(super) fn function(&mut self, name: &str, arguments: Vec<Fraction>) -> Result<Fraction> {
        match (name, arguments.as_slice()) {
            ("abs", [inner]) => Ok(self.absolute(inner)),
            ("factorial", [n]) => self.factorial(n),
            ("binomial", [n, k]) => self.binomial(n, k),
            _ => Ok(self.value_of(name, arguments)),
        }
    }

    fn factorial(&mut self, inner: &Fraction) -> Result<Fraction> {
        let Some(value) = inner.as_constant() else {
            return Ok(self.value_of("factorial", vec![inner.clone()]));
        };
        let n = at_most(&value, LARGEST_FACTORIAL).ok_or(ParseError::OutOfFuel)?;
        self.falling(value.numerator(), n).map(|value| Fraction::constant(value.into()))
    }

    /// Returns `n (n-1) … (n-k+1)`.
    fn falling(&mut self, n: &Integer, k: u64) -> Result<Integer> {
        let mut product = Integer::ONE;
        for step in 0..k {
            let bits = product.bit_len() as u64;
            self.spend(1 + bits / 4096)?;
            if bits > MAX_BITS {
                return Err(ParseError::OutOfFuel);
            }
            product *= n - Integer::from(step);
        }
        Ok(product)
    }

    fn binomial(&mut self, n: &Fraction, k: &Fraction) -> Result<Fraction> {
        let integer = |value: &Fraction| at_most(&value.as_constant()?, u64::from(u32::MAX));
        let (Some(n_value), Some(k_value)) = (integer(n), integer(k)) else {
            return Ok(self.value_of("binomial", vec![n.clone(), k.clone()]));
        };
        let Some(rest) = n_value.checked_sub(k_value) else { return Ok(Fraction::zero()) };
        let k = k_value.min(rest);
        if k > LARGEST_FACTORIAL {
            return Err(ParseError::OutOfFuel);
        }
        let (top, bottom) = (self.falling(&n_value.into(), k)?, self.falling(&k.into(), k)?);
        self.spend((top.bit_len() as u64 * bottom.bit_len() as u64) >> 18)?;
        Ok(Fraction::constant((top / bottom).into()))
    }

    /// Returns the absolute value, equal for a value and its negative.
    fn absolute(&mut self, inner: &Fraction) -> Fraction {
        let negative = inner.numerator.leading().is_some_and(Signed::is_negative);
        let inner = if negative { inner.negated() } else { inner.clone() };
        match inner.as_constant() {
            Some(_) => inner,
            None => self.value_of("abs", vec![inner]),
        }
    }
}
