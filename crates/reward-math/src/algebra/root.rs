//! Roots and absolute values.

use dashu::base::{Abs, BitTest, Inverse, Signed, SquareRoot, UnsignedAbs};
use dashu::{Natural, Rational};

use super::{Algebra, Atom, Exponent, Fraction, Monomial, Polynomial, Result};
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
        let Some(polynomial) = radicand.as_polynomial() else {
            // √(a/b) = √a / √b if b is clearly positive; else the root of the whole fraction stays.
            let bottom = Fraction::from(radicand.denominator.clone());
            if self.sign(&bottom) == Some(1) {
                let top = Fraction::from(radicand.numerator.clone());
                let (top, bottom) = (self.root(&top, index)?, self.root(&bottom, index)?);
                return self.divide(&top, &bottom);
            }
            return Ok(
                self.of_atom(Atom::Function(format!("root {index}"), vec![radicand.clone()]))
            );
        };
        let polynomial = polynomial.clone();
        match polynomial.single() {
            Some((monomial, coefficient)) => self.root_of_term(monomial, coefficient, index),
            None => self.root_of_sum(&polynomial, index),
        }
    }

    fn root_of_term(
        &mut self,
        monomial: &Monomial,
        coefficient: &Rational,
        index: u32,
    ) -> Result<Fraction> {
        let (mut result, mut exponents) = (Fraction::one(), Monomial::new());
        if coefficient.is_negative() {
            if index % 2 == 1 {
                result = result.negated();
            } else if index == 2 {
                result = self.of_atom(Atom::Imaginary);
            } else {
                let radicand =
                    Fraction::from(Polynomial::term(monomial.clone(), coefficient.clone()));
                return Ok(self.of_atom(Atom::Function(format!("root {index}"), vec![radicand])));
            }
        }
        let divisor = i64::from(index);
        for (prime, times) in self.factor(&coefficient.clone().abs())? {
            let id = self.intern(Atom::Prime(prime));
            let exponent = Exponent::new(times, divisor).ok_or(ParseError::OutOfFuel)?;
            let term = self.reduce(vec![(id, exponent)], Rational::ONE)?;
            result = self.multiply(&result, &Fraction::from(term))?;
        }
        for (id, exponent) in monomial {
            let part = Exponent::new(1, divisor);
            let divided = part.and_then(|part| exponent.checked_mul(part));
            let divided = divided.ok_or(ParseError::OutOfFuel)?;
            let positive = matches!(
                self.atom(*id),
                Atom::Prime(_) | Atom::Base(_) | Atom::Absolute(_)
            ) || matches!(self.atom(*id), Atom::Symbol(name) if name == "\\pi" || name == "e");
            let even = exponent.integer().is_some_and(|whole| whole % 2 == 0);
            if matches!(self.atom(*id), Atom::Imaginary) {
                let radicand =
                    Fraction::from(Polynomial::term(monomial.clone(), coefficient.clone()));
                return Ok(self.of_atom(Atom::Function(format!("root {index}"), vec![radicand])));
            }
            if !positive
                && index.is_multiple_of(2)
                && even
                && let Some(whole) = divided.integer()
                && whole % 2 != 0
            {
                let atom = Polynomial::term(vec![(*id, Exponent::ONE)], Rational::ONE);
                let absolute = self.absolute(&Fraction::from(atom))?;
                let count = Fraction::constant(Rational::from(whole));
                let power = self.power(&absolute, &count)?;
                result = self.multiply(&result, &power)?;
            } else {
                exponents.push((*id, divided));
            }
        }
        let rest = self.reduce(exponents, Rational::ONE)?;
        self.multiply(&result, &Fraction::from(rest))
    }

    fn root_of_sum(&mut self, sum: &Polynomial, index: u32) -> Result<Fraction> {
        if index == 2
            && let Some(simple) = self.denest(sum)?
        {
            return Ok(simple);
        }
        let content = sum.content();
        let mut inner = sum.scaled(&(&content).inv());
        let mut scale = self.root_of_term(&Monomial::new(), &content, index)?;
        if index % 2 == 1 && inner.leading().is_some_and(Signed::is_negative) {
            inner = inner.scaled(&Rational::NEG_ONE);
            scale = scale.negated();
        }
        // A negative number under an even root: i is factored out, so that the root is of a positive number.
        if index == 2 && self.sign(&Fraction::from(inner.clone())) == Some(-1) {
            inner = inner.scaled(&Rational::NEG_ONE);
            let imaginary = self.of_atom(Atom::Imaginary);
            scale = self.multiply(&scale, &imaginary)?;
        }
        let id = self.intern(Atom::Base(inner));
        let exponent = Exponent::new(1, index.into()).ok_or(ParseError::OutOfFuel)?;
        let root = Polynomial::term(vec![(id, exponent)], Rational::ONE);
        self.multiply(&scale, &Fraction::from(root))
    }

    /// Denests `√(a + b)` with `a` rational, `b²` rational and `a² - b²` a square `s²`: `√((a+s)/2) ± √((a-s)/2)`.
    fn denest(&mut self, sum: &Polynomial) -> Result<Option<Fraction>> {
        let terms: Vec<_> = sum.terms().collect();
        let [(first, a), (second, b)] = terms.as_slice() else { return Ok(None) };
        if !first.is_empty() || a.is_negative() {
            return Ok(None);
        }
        let positive = !b.is_negative();
        let term = Polynomial::term((*second).clone(), (*b).clone());
        let a = (*a).clone();
        if self.approximate(&term).is_none() {
            return Ok(None);
        }
        let square = self.multiply_polynomials(&term, &term)?;
        let Some(square) = square.as_constant() else { return Ok(None) };
        let Some(s) = rational_square_root(&(&a * &a - square)) else { return Ok(None) };
        let two = Rational::from(2);
        let large = self.root_of_term(&Monomial::new(), &((&a + &s) / &two), 2)?;
        let small = (&a - &s) / &two;
        if small.is_zero() {
            return Ok(Some(large));
        }
        let small = self.root_of_term(&Monomial::new(), &small, 2)?;
        let small = if positive { small } else { small.negated() };
        self.add(&large, &small).map(Some)
    }

    pub(super) fn absolute(&mut self, inner: &Fraction) -> Result<Fraction> {
        if let Some(sign) = self.sign(inner) {
            return Ok(if sign < 0 { inner.negated() } else { inner.clone() });
        }
        let Some(polynomial) = inner.as_polynomial().cloned() else {
            let top = self.absolute(&Fraction::from(inner.numerator.clone()))?;
            let bottom = self.absolute(&Fraction::from(inner.denominator.clone()))?;
            return self.divide(&top, &bottom);
        };
        if let Some((monomial, coefficient)) = polynomial.single() {
            let coefficient = coefficient.clone().abs();
            let (mut outside, mut inside) = (Monomial::new(), Vec::new());
            let mut imaginary = false;
            for (id, exponent) in monomial {
                let positive = self.approximate_atom(self.atom(*id)).is_some()
                    || matches!(self.atom(*id), Atom::Absolute(_) | Atom::Base(_));
                imaginary |= matches!(self.atom(*id), Atom::Imaginary);
                // A root of a variable assumes that the variable is not negative.
                match exponent.integer() {
                    Some(degree) if !positive && degree % 2 != 0 => inside.push((*id, degree)),
                    _ => outside.push((*id, *exponent)),
                }
            }
            if !imaginary {
                let outside = Polynomial::term(outside, coefficient);
                let mut result = Fraction::from(outside);
                for (id, degree) in inside {
                    let atom = Polynomial::term(vec![(id, Exponent::ONE)], Rational::ONE);
                    let absolute = self.of_atom(Atom::Absolute(atom));
                    let count = Fraction::constant(Rational::from(degree));
                    let power = self.power(&absolute, &count)?;
                    result = self.multiply(&result, &power)?;
                }
                return Ok(result);
            }
        }
        let content = polynomial.content();
        let mut primitive = polynomial.scaled(&(&content).inv());
        if primitive.leading().is_some_and(Signed::is_negative) {
            primitive = primitive.scaled(&Rational::NEG_ONE);
        }
        let atom = if self.has_imaginary(&primitive) {
            Atom::Function("modulus".to_owned(), vec![Fraction::from(primitive)])
        } else {
            Atom::Absolute(primitive)
        };
        Ok(self.of_atom(atom).scaled(&content))
    }

    fn has_imaginary(&self, polynomial: &Polynomial) -> bool {
        polynomial.terms().any(|(monomial, _)| {
            monomial.iter().any(|(id, _)| matches!(self.atom(*id), Atom::Imaginary))
        })
    }

    /// Returns the prime factors of a positive rational with their exponents, negative for the denominator.
    pub(super) fn factor(&mut self, value: &Rational) -> Result<Vec<(Natural, i64)>> {
        let mut factors = self.factor_integer(value.numerator().unsigned_abs())?;
        let below = self.factor_integer(value.denominator().clone())?;
        factors.extend(below.into_iter().map(|(prime, times)| (prime, -times)));
        Ok(factors)
    }

    fn factor_integer(&mut self, value: Natural) -> Result<Vec<(Natural, i64)>> {
        let mut factors = Vec::new();
        let mut rest = value;
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

fn rational_square_root(value: &Rational) -> Option<Rational> {
    if value.is_negative() || value.numerator().bit_len() > 1 << 12 {
        return None;
    }
    let root = Rational::from_parts(value.numerator().sqrt().into(), value.denominator().sqrt());
    (&root * &root == *value).then_some(root)
}

/// Returns the integer if it is at most `limit`.
pub(super) fn at_most(value: &Rational, limit: u64) -> Option<u64> {
    let fits = value.is_int() && !value.is_negative();
    if fits { value.numerator().try_into().ok().filter(|&n| n <= limit) } else { None }
}
