//! Factorials, binomials, logarithms and named functions.

use num_bigint::BigInt;
use num_integer::Integer;
use num_rational::BigRational;
use num_traits::{One, Signed};

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
    fn falling(&mut self, n: &BigRational, k: u64) -> Result<BigRational> {
        let mut product = BigInt::one();
        for step in 0..k {
            let bits = product.bits();
            self.spend(1 + bits / 4096)?;
            if bits > MAX_BITS {
                return Err(ParseError::OutOfFuel);
            }
            product *= n.numer() - BigInt::from(step);
        }
        Ok(BigRational::from_integer(product))
    }

    pub(super) fn binomial(&mut self, n: &Fraction, k: &Fraction) -> Result<Fraction> {
        let k_value = k.as_constant();
        let n_value = n.as_constant();
        if let (Some(n), Some(k)) = (&n_value, &k_value)
            && let Some(n_integer) = at_most(n, u64::from(u32::MAX))
        {
            let k = at_most(k, u64::from(u32::MAX)).unwrap_or(n_integer + 1);
            if k > n_integer {
                return Ok(Fraction::constant(BigRational::from_integer(BigInt::from(0))));
            }
            let k = k.min(n_integer - k);
            if k > LARGEST_FACTORIAL {
                return Err(ParseError::OutOfFuel);
            }
            let top = self.falling(n, k)?;
            let bottom = self.falling(&BigRational::from_integer(BigInt::from(k)), k)?;
            self.spend_on(&top, &bottom.recip())?;
            return Ok(Fraction::constant(top / bottom));
        }
        match k_value.and_then(|k| at_most(&k, 16)) {
            Some(k) => {
                let mut product = Fraction::one();
                for step in 0..k {
                    let shift = Fraction::constant(BigRational::from_integer(BigInt::from(step)));
                    let factor = self.subtract(n, &shift)?;
                    let scale = BigRational::new(BigInt::one(), BigInt::from(step + 1));
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
            Some((monomial, coefficient)) if coefficient.is_positive() => {
                (coefficient.clone(), monomial.clone(), None)
            }
            _ => {
                let content = polynomial.content();
                (content.clone(), Vec::new(), Some(polynomial.scaled(&content.recip())))
            }
        };
        let mut sum = Fraction::zero();
        for (prime, times) in self.factor(&content)? {
            let prime = Fraction::constant(BigRational::from_integer(BigInt::from(prime)));
            let part = self.of_atom(Atom::Logarithm(Box::new(prime)));
            sum = self.add(&sum, &part.scaled(&BigRational::from_integer(times.into())))?;
        }
        for (id, exponent) in monomial {
            let atom = self.atom(id).clone();
            let ratio = BigRational::new((*exponent.numer()).into(), (*exponent.denom()).into());
            let part = match atom {
                Atom::Symbol(name) if name == "e" => Fraction::one(),
                Atom::Prime(prime) => {
                    let prime = Fraction::constant(BigRational::from_integer(BigInt::from(prime)));
                    self.of_atom(Atom::Logarithm(Box::new(prime)))
                }
                // ln(b^m) = m ln b
                Atom::Power(base, power) => {
                    let power = Fraction::from(Polynomial::term(power, BigRational::one()));
                    let logarithm = self.natural_logarithm(&base)?;
                    self.multiply(&power, &logarithm)?
                }
                _ => {
                    let inner = Polynomial::term(vec![(id, Exponent::one())], BigRational::one());
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
                let integers = integers.filter(|(a, b)| a.is_integer() && b.is_integer());
                Ok(match integers {
                    Some((a, b)) => {
                        let value = if name == "gcd" {
                            a.numer().gcd(b.numer())
                        } else {
                            a.numer().lcm(b.numer())
                        };
                        Fraction::constant(BigRational::from_integer(value))
                    }
                    None => self.of_atom(Atom::Function(name.to_owned(), arguments)),
                })
            }
            ("double factorial", [argument]) => match argument.as_constant() {
                Some(value) => {
                    let n = at_most(&value, LARGEST_FACTORIAL).ok_or(ParseError::OutOfFuel)?;
                    let mut product = BigInt::one();
                    for factor in (1..=n).rev().step_by(2) {
                        self.spend(1 + product.bits() / 4096)?;
                        product *= factor;
                    }
                    Ok(Fraction::constant(BigRational::from_integer(product)))
                }
                None => Ok(self.of_atom(Atom::Function(name.to_owned(), arguments))),
            },
            ("floor" | "ceil", [argument]) => match argument.as_constant() {
                Some(value) if name == "floor" => Ok(Fraction::constant(value.floor())),
                Some(value) => Ok(Fraction::constant(value.ceil())),
                None => Ok(self.of_atom(Atom::Function(name.to_owned(), arguments))),
            },
            ("max" | "min", [first, second]) => {
                let difference = self.subtract(first, second)?;
                let spread = self.absolute(&difference)?;
                let spread = if name == "max" { spread } else { spread.negated() };
                let sum = self.add(first, second)?;
                let half = BigRational::new(BigInt::one(), BigInt::from(2));
                Ok(self.add(&sum, &spread)?.scaled(&half))
            }
            _ => Ok(self.of_atom(Atom::Function(name.to_owned(), arguments))),
        }
    }
}
