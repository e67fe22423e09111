//! The indeterminates of a normal form.

use num_bigint::BigUint;
use num_traits::ToPrimitive;

use super::{Algebra, Fraction, Monomial, Polynomial};

/// An indeterminate, with the rule by which its powers reduce.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Atom {
    /// A prime, or a factor without small divisors; exponents reduce into `[0, 1)`.
    Prime(BigUint),
    /// `i`, with `i² = -1`.
    Imaginary,
    /// A variable or a transcendental constant; exponents are free.
    Symbol(String),
    /// A sum under a root; exponents reduce into `[0, 1)`.
    Base(Polynomial),
    /// `|a|`, with `|a|² = a²`.
    Absolute(Polynomial),
    /// `sin a`, with `sin² = 1 - cos²`.
    Sine(Polynomial),
    /// `cos a`.
    Cosine(Polynomial),
    /// `b^m` for a symbolic exponent `m`; exponents are free, except that those of `(-1)^m` are modulo 2.
    Power(Box<Fraction>, Monomial),
    /// `ln a` of a prime, a symbol or a sum.
    Logarithm(Box<Fraction>),
    /// Any other function value.
    Function(String, Vec<Fraction>),
}

impl Atom {
    /// The value at double precision, if it is a positive real constant.
    pub(super) fn approximate(&self, algebra: &Algebra) -> Option<f64> {
        let inner =
            |polynomial: &Polynomial| algebra.approximate(polynomial).map(|(value, _)| value);
        let value = match self {
            Self::Prime(prime) => prime.to_f64()?,
            Self::Symbol(name) => match name.as_str() {
                "\\pi" => std::f64::consts::PI,
                "e" => std::f64::consts::E,
                _ => return None,
            },
            Self::Base(base) => inner(base)?,
            Self::Absolute(polynomial) => inner(polynomial)?.abs(),
            Self::Sine(argument) => inner(argument)?.sin(),
            Self::Cosine(argument) => inner(argument)?.cos(),
            Self::Logarithm(argument) => {
                let (top, bottom) = (inner(&argument.numerator)?, inner(&argument.denominator)?);
                (top / bottom).ln()
            }
            Self::Imaginary | Self::Power(..) | Self::Function(..) => return None,
        };
        (value.is_finite() && value > 0.0).then_some(value)
    }
}
