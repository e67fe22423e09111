//! Factorials, binomials, logarithms and named functions.

use dashu::base::{BitTest, Gcd, Inverse, Signed, UnsignedAbs};
use dashu::{Integer, Natural, Rational};

use super::root::at_most;
use super::{Algebra, Atom, Exponent, Fraction, MAX_BITS, Polynomial, Result};
use crate::verdict::ParseError;

/// Largest argument of a factorial that is multiplied out.
const LARGEST_FACTORIAL: u64 = 2100;

impl Algebra {
    pub(super) fn factorial(&mut self, inner: &Fraction) -> Result<Fraction> {
        let Some(value) = inner.as_constant() else {
            return Ok(self.of_atom(Atom::Function("factorial".to_owned(), vec![inner.clone()])));
        };
        let n = at_most(&value, LARGEST_FACTORIAL).ok_or(ParseError::OutOfFuel)?;
        self.falling(&value, n).map(Fraction::constant)
    }

    /// `n (n-1) … (n-k+1)`.
    fn falling(&mut self, n: &Rational, k: u64) -> Result<Rational> {
        let mut product = Integer::ONE;
        for step in 0..k {
            let bits = product.bit_len() as u64;
            self.spend(1 + bits / 4096)?;
            if bits > MAX_BITS {
                return Err(ParseError::OutOfFuel);
            }
            product *= n.numerator() - Integer::from(step);
        }
        Ok(Rational::from(product))
    }

    pub(super) fn binomial(&mut self, n: &Fraction, k: &Fraction) -> Result<Fraction> {
        let k_value = k.as_constant();
        let n_value = n.as_constant();
        if let (Some(n), Some(k)) = (&n_value, &k_value)
            && let Some(n_integer) = at_most(n, u64::from(u32::MAX))
        {
            let k = at_most(k, u64::from(u32::MAX)).unwrap_or(n_integer + 1);
            if k > n_integer {
                return Ok(Fraction::constant(Rational::ZERO));
            }
            let k = k.min(n_integer - k);
            if k > LARGEST_FACTORIAL {
                return Err(ParseError::OutOfFuel);
            }
            let top = self.falling(n, k)?;
            let bottom = self.falling(&Rational::from(k), k)?;
            self.spend_on(&top, &(&bottom).inv())?;
            return Ok(Fraction::constant(top / bottom));
        }
        match k_value.and_then(|k| at_most(&k, 16)) {
            Some(k) => {
                let mut product = Fraction::one();
                for step in 0..k {
                    let shift = Fraction::constant(Rational::from(step));
                    let factor = self.subtract(n, &shift)?;
                    let scale = Rational::from_parts(Integer::ONE, (step + 1).into());
                    product = self.multiply(&product, &factor.scaled(&scale))?;
                }
                Ok(product)
            }
            None => Ok(self.of_atom(Atom::Function("binomial".into(), vec![n.clone(), k.clone()]))),
        }
    }

    /// The natural logarithm, split over factors: `ln 12 = 2 ln 2 + ln 3`.
    pub(super) fn natural_logarithm(&mut self, argument: &Fraction) -> Result<Fraction> {
        let undefined = || ParseError::Undefined { what: "logarithm of zero or less".to_owned() };
        if argument.numerator.is_zero() || argument.as_constant().is_some_and(|v| v.is_negative()) {
            return Err(undefined());
        }
        let Some(polynomial) = argument.as_polynomial().cloned() else {
            let top = Fraction::from(argument.numerator.clone());
            let bottom = Fraction::from(argument.denominator.clone());
            if self.sign(&bottom) == Some(1) || self.sign(&bottom).is_none() {
                let (top, bottom) =
                    (self.natural_logarithm(&top)?, self.natural_logarithm(&bottom)?);
                return self.subtract(&top, &bottom);
            }
            return Ok(self.of_atom(Atom::Logarithm(Box::new(argument.clone()))));
        };
        let (content, monomial, rest) = match polynomial.single() {
            Some((monomial, coefficient)) if !coefficient.is_negative() => {
                (coefficient.clone(), monomial.clone(), None)
            }
            _ => {
                let content = polynomial.content();
                (content.clone(), Vec::new(), Some(polynomial.scaled(&(&content).inv())))
            }
        };
        let mut sum = Fraction::zero();
        for (prime, times) in self.factor(&content)? {
            let prime = Fraction::constant(Rational::from(prime));
            let part = self.of_atom(Atom::Logarithm(Box::new(prime)));
            sum = self.add(&sum, &part.scaled(&Rational::from(times)))?;
        }
        for (id, exponent) in monomial {
            let atom = self.atom(id).clone();
            let ratio = Rational::from(exponent);
            let part = match atom {
                Atom::Symbol(name) if name == "e" => Fraction::one(),
                Atom::Prime(prime) => {
                    let prime = Fraction::constant(Rational::from(prime));
                    self.of_atom(Atom::Logarithm(Box::new(prime)))
                }
                // ln(b^m) = m ln b
                Atom::Power(base, power) => {
                    let power = Fraction::from(Polynomial::term(power, Rational::ONE));
                    let logarithm = self.natural_logarithm(&base)?;
                    self.multiply(&power, &logarithm)?
                }
                _ => {
                    let inner = Polynomial::term(vec![(id, Exponent::ONE)], Rational::ONE);
                    self.of_atom(Atom::Logarithm(Box::new(Fraction::from(inner))))
                }
            };
            sum = self.add(&sum, &part.scaled(&ratio))?;
        }
        if let Some(rest) = rest {
            let part = self.of_atom(Atom::Logarithm(Box::new(Fraction::from(rest))));
            sum = self.add(&sum, &part)?;
        }
        Ok(sum)
    }

    pub(super) fn function(&mut self, name: &str, arguments: Vec<Fraction>) -> Result<Fraction> {
        match (name, arguments.as_slice()) {
            ("exp", [argument]) => {
                let e = self.symbol("e");
                self.power(&e, argument)
            }
            ("sin" | "cos" | "tan" | "cot" | "sec" | "csc", [argument]) => {
                self.trigonometric(name, argument)
            }
            ("gcd" | "lcm", [first, second]) => {
                let integers = first.as_constant().zip(second.as_constant());
                let integers = integers.filter(|(a, b)| a.is_int() && b.is_int());
                Ok(match integers {
                    Some((a, b)) => {
                        let (a, b) = (a.numerator(), b.numerator());
                        let value = if name == "gcd" {
                            greatest_divisor(a, b)
                        } else {
                            least_multiple(a, b)
                        };
                        Fraction::constant(Rational::from(value))
                    }
                    None => self.of_atom(Atom::Function(name.to_owned(), arguments)),
                })
            }
            ("double factorial", [argument]) => match argument.as_constant() {
                Some(value) => {
                    let n = at_most(&value, LARGEST_FACTORIAL).ok_or(ParseError::OutOfFuel)?;
                    let mut product = Integer::ONE;
                    for factor in (1..=n).rev().step_by(2) {
                        self.spend(1 + product.bit_len() as u64 / 4096)?;
                        product *= factor;
                    }
                    Ok(Fraction::constant(Rational::from(product)))
                }
                None => Ok(self.of_atom(Atom::Function(name.to_owned(), arguments))),
            },
            ("floor" | "ceil", [argument]) => match argument.as_constant() {
                Some(value) if name == "floor" => Ok(Fraction::constant(value.floor().into())),
                Some(value) => Ok(Fraction::constant(value.ceil().into())),
                None => Ok(self.of_atom(Atom::Function(name.to_owned(), arguments))),
            },
            ("max" | "min", [first, second]) => {
                let difference = self.subtract(first, second)?;
                let spread = self.absolute(&difference)?;
                let spread = if name == "max" { spread } else { spread.negated() };
                let sum = self.add(first, second)?;
                let half = Rational::from_parts(Integer::ONE, 2_u8.into());
                Ok(self.add(&sum, &spread)?.scaled(&half))
            }
            _ => Ok(self.of_atom(Atom::Function(name.to_owned(), arguments))),
        }
    }
}

/// The greatest common divisor; 0 of 0 and 0.
pub(crate) fn greatest_divisor(a: &Integer, b: &Integer) -> Natural {
    if a.is_zero() && b.is_zero() { Natural::ZERO } else { a.gcd(b) }
}

/// The least common multiple; 0 where one is 0.
pub(crate) fn least_multiple(a: &Integer, b: &Integer) -> Natural {
    if a.is_zero() || b.is_zero() { Natural::ZERO } else { (a / a.gcd(b) * b).unsigned_abs() }
}
