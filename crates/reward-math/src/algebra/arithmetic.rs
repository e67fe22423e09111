//! Arithmetic of fractions.

use dashu::Rational;
use dashu::base::{Abs, BitTest, Inverse, Signed};

use super::{Algebra, Atom, Exponent, Fraction, Monomial, Polynomial, Result, small_integer};
use crate::verdict::ParseError;

impl Algebra {
    pub(crate) fn add(&mut self, left: &Fraction, right: &Fraction) -> Result<Fraction> {
        self.spend(2 * (left.numerator.len() + right.numerator.len()) as u64)?;
        for (_, coefficient) in right.numerator.terms() {
            self.spend_on(coefficient, left.numerator.leading().unwrap_or(coefficient))?;
        }
        if left.denominator == right.denominator {
            let numerator = left.numerator.plus(&right.numerator);
            return self.fraction(numerator, &left.denominator);
        }
        let first = self.multiply_polynomials(&left.numerator, &right.denominator)?;
        let second = self.multiply_polynomials(&right.numerator, &left.denominator)?;
        let denominator = self.multiply_polynomials(&left.denominator, &right.denominator)?;
        self.fraction(first.plus(&second), &denominator)
    }

    pub(crate) fn subtract(&mut self, left: &Fraction, right: &Fraction) -> Result<Fraction> {
        self.add(left, &right.negated())
    }

    pub(crate) fn multiply(&mut self, left: &Fraction, right: &Fraction) -> Result<Fraction> {
        let numerator = self.multiply_polynomials(&left.numerator, &right.numerator)?;
        let denominator = self.multiply_polynomials(&left.denominator, &right.denominator)?;
        self.fraction(numerator, &denominator)
    }

    pub(crate) fn divide(&mut self, left: &Fraction, right: &Fraction) -> Result<Fraction> {
        let numerator = self.multiply_polynomials(&left.numerator, &right.denominator)?;
        let denominator = self.multiply_polynomials(&left.denominator, &right.numerator)?;
        self.fraction(numerator, &denominator)
    }

    /// Canonical sign and scale; a denominator of one term moves into the numerator.
    fn fraction(&mut self, numerator: Polynomial, denominator: &Polynomial) -> Result<Fraction> {
        if denominator.is_zero() {
            return Err(ParseError::Undefined { what: "division by zero".to_owned() });
        }
        if denominator.as_constant().is_some_and(|value| value.is_one()) {
            return Ok(Fraction::from(numerator));
        }
        if numerator.is_zero() {
            return Ok(Fraction::zero());
        }
        let Some((monomial, coefficient)) = denominator.single() else {
            if numerator == *denominator {
                return Ok(Fraction::one());
            }
            let scale = denominator.leading().map_or(Rational::ONE, Inverse::inv);
            for polynomial in [&numerator, denominator] {
                for (_, coefficient) in polynomial.terms() {
                    self.spend_on(coefficient, &scale)?;
                }
            }
            return Ok(Fraction {
                numerator: numerator.scaled(&scale),
                denominator: denominator.scaled(&scale),
            });
        };
        let scale = coefficient.inv();
        if let Some(leading) = numerator.leading() {
            self.spend_on(leading, &scale)?;
        }
        let (mut inverse, mut left, mut complement) =
            (Monomial::new(), Polynomial::constant(Rational::ONE), Monomial::new());
        for (id, exponent) in monomial.clone() {
            match self.atom(id) {
                // 1/√P = √P / P
                Atom::Base(base) => {
                    let base = base.clone();
                    complement.push((id, less(1, exponent)?));
                    left = self.multiply_polynomials(&left, &base)?;
                }
                // The value of the square stays below: 1/|a| = |a| / a², 1/sin = sin / (1 - cos²).
                Atom::Absolute(_) | Atom::Sine(_) => {
                    let below = vec![(id, Exponent::from(2))];
                    let square = self.reduce(below, Rational::ONE)?;
                    complement.push((id, less(2, exponent)?));
                    left = self.multiply_polynomials(&left, &square)?;
                }
                _ => inverse.push((id, -exponent)),
            }
        }
        let complement = self.reduce(complement, Rational::ONE)?;
        let inverse = self.reduce(inverse, scale)?;
        let numerator = self.multiply_polynomials(&numerator, &inverse)?;
        let numerator = self.multiply_polynomials(&numerator, &complement)?;
        if left.as_constant().is_some_and(|value| value.is_one()) {
            return Ok(Fraction::from(numerator));
        }
        self.fraction(numerator, &left)
    }

    pub(crate) fn power(&mut self, base: &Fraction, exponent: &Fraction) -> Result<Fraction> {
        let undefined = |what: &str| ParseError::Undefined { what: what.to_owned() };
        if let Some(exponent) = exponent.as_constant() {
            if base.numerator.is_zero() && exponent <= Rational::ZERO {
                return Err(undefined("zero to a power that is not positive"));
            }
            return self.rational_exponent(base, &exponent);
        }
        if base.numerator.is_zero() {
            return Err(undefined("zero to a symbolic power"));
        }
        self.symbolic_exponent(base, exponent)
    }

    fn rational_exponent(&mut self, base: &Fraction, exponent: &Rational) -> Result<Fraction> {
        // 1, -1 and 0 take exponents of any size.
        if exponent.is_int()
            && let Some(value) = base.as_constant()
            && (Rational::NEG_ONE..=Rational::ONE).contains(&value)
            && value.is_int()
        {
            let odd = exponent.numerator().bit(0);
            return Ok(Fraction::constant(if value.is_negative() && !odd {
                -value
            } else {
                value
            }));
        }
        let index = exponent.denominator().try_into().map_err(|_| ParseError::OutOfFuel)?;
        let root = if exponent.is_int() { base.clone() } else { self.root(base, index)? };
        let count = Rational::from(exponent.numerator().clone());
        let count = small_integer(&count).ok_or(ParseError::OutOfFuel)?;
        let top = self.polynomial_power(&root.numerator, count.unsigned_abs())?;
        let bottom = self.polynomial_power(&root.denominator, count.unsigned_abs())?;
        if count < 0 { self.fraction(bottom, &top) } else { self.fraction(top, &bottom) }
    }

    /// `b^E` with `E` a sum of terms `c·m`: the product of the atoms `b^m` to the powers `c`.
    fn symbolic_exponent(&mut self, base: &Fraction, exponent: &Fraction) -> Result<Fraction> {
        let Some(sum) = exponent.as_polynomial().cloned() else {
            return Ok(
                self.of_atom(Atom::Function("power".into(), vec![base.clone(), exponent.clone()]))
            );
        };
        let mut product = Fraction::one();
        for (monomial, coefficient) in sum.terms() {
            let factor = if monomial.is_empty() {
                self.rational_exponent(base, coefficient)?
            } else {
                self.symbolic_power(base, monomial, coefficient)?
            };
            product = self.multiply(&product, &factor)?;
        }
        Ok(product)
    }

    /// `base^(coefficient · monomial)`.
    fn symbolic_power(
        &mut self,
        base: &Fraction,
        monomial: &Monomial,
        coefficient: &Rational,
    ) -> Result<Fraction> {
        let scale = |value: &Rational| -> Result<Exponent> {
            let small = |part: &i64| part.unsigned_abs() < 1 << 20;
            let top = i64::try_from(value.numerator()).ok().filter(small);
            let bottom = i64::try_from(value.denominator()).ok().filter(small);
            top.zip(bottom).and_then(|(a, b)| Exponent::new(a, b)).ok_or(ParseError::OutOfFuel)
        };
        let exponent = scale(coefficient)?;
        // e^{c ln a} = a^c
        if let [(id, power)] = monomial.as_slice()
            && *power == Exponent::ONE
            && let Atom::Logarithm(argument) = self.atom(*id).clone()
            && let Some(([(base_id, one)], _)) =
                base.as_polynomial().and_then(Polynomial::single).map(|(m, c)| (m.as_slice(), c))
            && *one == Exponent::ONE
            && matches!(self.atom(*base_id), Atom::Symbol(name) if name == "e")
        {
            return self.rational_exponent(&argument, coefficient);
        }
        let mut parts: Vec<(Fraction, Exponent)> = Vec::new();
        match base.as_polynomial().and_then(Polynomial::single) {
            Some((base_monomial, base_coefficient)) => {
                if base_coefficient.is_negative() {
                    parts.push((Fraction::constant(Rational::NEG_ONE), exponent));
                }
                for (prime, times) in self.factor(&base_coefficient.clone().abs())? {
                    let prime = Fraction::constant(Rational::from(prime));
                    let power = exponent.checked_mul(times.into()).ok_or(ParseError::OutOfFuel)?;
                    parts.push((prime, power));
                }
                for (id, power) in base_monomial {
                    let atom = Polynomial::term(vec![(*id, Exponent::ONE)], Rational::ONE);
                    let power = exponent.checked_mul(*power).ok_or(ParseError::OutOfFuel)?;
                    parts.push((Fraction::from(atom), power));
                }
            }
            None => parts.push((base.clone(), exponent)),
        }
        let mut product = Polynomial::constant(Rational::ONE);
        for (base, exponent) in parts {
            let id = self.intern(Atom::Power(Box::new(base), monomial.clone()));
            let power = self.reduce(vec![(id, exponent)], Rational::ONE)?;
            product = self.multiply_polynomials(&product, &power)?;
        }
        Ok(Fraction::from(product))
    }
}

/// `whole - exponent`.
fn less(whole: i64, exponent: Exponent) -> Result<Exponent> {
    (-exponent).checked_add(whole.into()).ok_or(ParseError::OutOfFuel)
}
