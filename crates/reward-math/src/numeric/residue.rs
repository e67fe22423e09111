//! Values modulo a prime: rational expressions compared without computing all their digits.

use std::collections::BTreeMap;

use dashu::base::BitTest;
use dashu::{Integer, Rational};

use super::evaluate::Operand;
use crate::expression::{Expression, Range};

/// Two primes below 2^61. Different integers of a million digits agree modulo both with a chance of about 2^-100.
const PRIMES: [u64; 2] = [2_305_843_009_213_693_951, 2_305_843_009_213_693_921];
/// Number of points at which polynomials are compared, modulo each prime.
const POINTS: u64 = 2;
/// Largest argument of a factorial, and most terms of a series.
const MAX_TERMS: i64 = 10_000;

/// Returns true if two expressions of the four operations, integer powers, factorials, binomials and series are equal.
///
/// Returns `None` if one of them has other parts, or divides by a multiple of the prime.
pub(super) fn equal(left: Operand<'_>, right: Operand<'_>, fuel: &mut u64) -> Option<bool> {
    for prime in PRIMES {
        for point in 0..POINTS {
            let mut value = |operand: Operand<'_>| {
                let mut field =
                    Field { prime, point, plus: operand.plus, bound: BTreeMap::new(), fuel };
                field.value(operand.expression)
            };
            if value(left)? != value(right)? {
                return Some(false);
            }
        }
    }
    Some(true)
}

struct Field<'a> {
    prime: u64,
    point: u64,
    plus: bool,
    /// Values of the indices of the series around the expression.
    bound: BTreeMap<String, i64>,
    fuel: &'a mut u64,
}

impl Field<'_> {
    #[expect(clippy::too_many_lines, reason = "one arm a kind of expression")]
    fn value(&mut self, expression: &Expression) -> Option<u64> {
        self.spend(1)?;
        match expression {
            Expression::Number(value) => self.rational(value),
            Expression::Symbol(name) => match self.bound.get(name) {
                Some(&value) => Some(self.reduce(&value.into())),
                // Irrational constants have no residue.
                None if matches!(name.as_str(), "\\pi" | "e" | "i" | "\\infty") => None,
                None => Some(self.coordinate(name)),
            },
            Expression::Sum(items) => {
                let mut sum = 0;
                for item in items {
                    let item = self.value(item)?;
                    sum = self.add(sum, item);
                }
                Some(sum)
            }
            Expression::Product(items) => {
                let mut product = 1;
                for item in items {
                    let item = self.value(item)?;
                    product = self.multiply(product, item);
                }
                Some(product)
            }
            Expression::Negative(inner) => {
                let inner = self.value(inner)?;
                Some(self.negate(inner))
            }
            Expression::PlusMinus(inner, flipped) => {
                let value = self.value(inner)?;
                Some(if self.plus == *flipped { self.negate(value) } else { value })
            }
            Expression::Quotient(top, bottom) => {
                let (top, bottom) = (self.value(top)?, self.value(bottom)?);
                self.divide(top, bottom)
            }
            Expression::Power(base, exponent) => {
                let exponent = self.integer(exponent)?;
                let base = self.value(base)?;
                if base == 0 && exponent <= 0 {
                    return None;
                }
                let power = self.power(base, exponent.unsigned_abs());
                if exponent < 0 { self.divide(1, power) } else { Some(power) }
            }
            Expression::Factorial(inner) => {
                let n = self.small(inner)?;
                self.falling(n, n)
            }
            Expression::Binomial(n, k) => {
                let (n, k) = (self.small(n)?, self.small(k)?);
                if n < 0 || k < 0 {
                    return None;
                }
                let (top, bottom) = (self.falling(n, k)?, self.falling(k, k)?);
                self.divide(top, bottom)
            }
            Expression::Series { range, index, low, high, body } => {
                let (low, high) = (self.small(low)?, self.small(high)?);
                let hidden = self.bound.get(index).copied();
                let mut total = u64::from(*range == Range::Product);
                for index_value in low..=high {
                    self.bound.insert(index.clone(), index_value);
                    let term = self.value(body)?;
                    total = match range {
                        Range::Sum => self.add(total, term),
                        Range::Product => self.multiply(total, term),
                    };
                }
                match hidden {
                    Some(value) => self.bound.insert(index.clone(), value),
                    None => self.bound.remove(index),
                };
                Some(total)
            }
            Expression::Root(..)
            | Expression::Absolute(_)
            | Expression::Logarithm(..)
            | Expression::Function(..)
            | Expression::Degrees(_) => None,
        }
    }

    fn spend(&mut self, steps: u64) -> Option<()> {
        *self.fuel = self.fuel.checked_sub(steps)?;
        Some(())
    }

    /// Returns an integer exactly: an exponent must not be reduced.
    fn integer(&mut self, expression: &Expression) -> Option<i128> {
        const LIMIT: i128 = 1 << 100;
        self.spend(1)?;
        let value = match expression {
            Expression::Number(value) if value.is_int() => value.numerator().try_into().ok()?,
            Expression::Symbol(name) => i128::from(*self.bound.get(name)?),
            Expression::Negative(inner) => -self.integer(inner)?,
            Expression::Sum(items) => {
                let mut sum = 0_i128;
                for item in items {
                    sum = sum.checked_add(self.integer(item)?)?;
                }
                sum
            }
            Expression::Product(items) => {
                let mut product = 1_i128;
                for item in items {
                    product = product.checked_mul(self.integer(item)?)?;
                }
                product
            }
            Expression::Power(base, exponent) => {
                let exponent = u32::try_from(self.integer(exponent)?).ok()?;
                self.integer(base)?.checked_pow(exponent)?
            }
            _ => return None,
        };
        (value.abs() < LIMIT).then_some(value)
    }

    fn small(&mut self, expression: &Expression) -> Option<i64> {
        let value = i64::try_from(self.integer(expression)?).ok()?;
        (value.abs() <= MAX_TERMS).then_some(value)
    }

    fn rational(&mut self, value: &Rational) -> Option<u64> {
        self.spend((value.numerator().bit_len().max(value.denominator().bit_len()) / 64) as u64)?;
        let (top, bottom) =
            (self.reduce(value.numerator()), self.reduce(value.denominator().as_ibig()));
        if bottom == 1 { Some(top) } else { self.divide(top, bottom) }
    }

    fn reduce(&self, value: &Integer) -> u64 {
        let prime = self.prime.cast_signed();
        (value % prime).rem_euclid(prime).cast_unsigned()
    }

    /// Returns a residue for a variable: equal for equal name, prime and point.
    fn coordinate(&self, name: &str) -> u64 {
        // FNV-1a, then a multiplication to spread short names.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64 ^ self.point.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        for byte in name.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (hash ^ (hash >> 32)) % (self.prime - 2) + 2
    }

    fn add(&self, a: u64, b: u64) -> u64 {
        (a + b) % self.prime
    }

    fn negate(&self, a: u64) -> u64 {
        (self.prime - a) % self.prime
    }

    #[expect(clippy::cast_possible_truncation, reason = "a remainder by a u64 fits one")]
    fn multiply(&self, a: u64, b: u64) -> u64 {
        (u128::from(a) * u128::from(b) % u128::from(self.prime)) as u64
    }

    fn power(&self, base: u64, exponent: u128) -> u64 {
        let (mut result, mut square, mut rest) = (1, base, exponent);
        while rest > 0 {
            if rest & 1 == 1 {
                result = self.multiply(result, square);
            }
            square = self.multiply(square, square);
            rest >>= 1;
        }
        result
    }

    fn divide(&self, a: u64, b: u64) -> Option<u64> {
        (b != 0).then(|| self.multiply(a, self.power(b, u128::from(self.prime - 2))))
    }

    fn falling(&mut self, n: i64, count: i64) -> Option<u64> {
        self.spend(u64::try_from(count).ok()? / 4)?;
        let mut product = 1;
        for step in 0..count {
            product = self.multiply(product, u64::try_from(n - step).ok()?);
        }
        Some(product)
    }
}

#[cfg(test)]
mod tests {
    use super::PRIMES;

    #[test]
    fn the_moduli_are_prime() {
        // Miller-Rabin with the bases that decide below 2^64.
        for prime in PRIMES {
            let n = u128::from(prime);
            let power = |mut base: u128, mut exponent: u128| {
                let mut result = 1;
                while exponent > 0 {
                    if exponent & 1 == 1 {
                        result = result * base % n;
                    }
                    base = base * base % n;
                    exponent >>= 1;
                }
                result
            };
            let twos = (n - 1).trailing_zeros();
            for base in [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37] {
                let mut x = power(base, (n - 1) >> twos);
                let mut passes = x == 1 || x == n - 1;
                for _ in 1..twos {
                    x = x * x % n;
                    passes |= x == n - 1;
                }
                assert!(passes, "{prime} is composite by base {base}");
            }
        }
    }
}
