//! Values at double precision.

use super::{Algebra, Atom, Fraction, Polynomial};

impl Algebra {
    /// An approximate value and the sum of the absolute terms, if every atom is a known real constant.
    pub(crate) fn approximate(&self, polynomial: &Polynomial) -> Option<(f64, f64)> {
        let (mut value, mut magnitude) = (0.0, 0.0);
        for (monomial, coefficient) in polynomial.terms() {
            let mut term = coefficient.to_f64().value();
            for (id, exponent) in monomial {
                let power = exponent.numerator() as f64 / exponent.denominator() as f64;
                term *= self.approximate_atom(self.atom(*id))?.powf(power);
            }
            value += term;
            magnitude += term.abs();
        }
        (value.is_finite() && magnitude.is_finite()).then_some((value, magnitude))
    }

    /// The sign, if the value is a real constant that is clearly not zero at double precision.
    pub(crate) fn sign(&self, fraction: &Fraction) -> Option<i8> {
        let side = |polynomial: &Polynomial| {
            if polynomial.is_zero() {
                return Some(0_i8);
            }
            // At most some hundred roundings: 1e-9 of the terms is far above their sum.
            let (value, magnitude) = self.approximate(polynomial)?;
            (value.abs() > 1e-9 * magnitude).then_some(if value > 0.0 { 1 } else { -1 })
        };
        Some(side(&fraction.numerator)? * side(&fraction.denominator)?)
    }

    /// The value at double precision, if it is a positive real constant.
    pub(super) fn approximate_atom(&self, atom: &Atom) -> Option<f64> {
        let inner = |polynomial: &Polynomial| self.approximate(polynomial).map(|(value, _)| value);
        let value = match atom {
            Atom::Prime(prime) => prime.to_f64().value(),
            Atom::Symbol(name) => match name.as_str() {
                "\\pi" => std::f64::consts::PI,
                "e" => std::f64::consts::E,
                _ => return None,
            },
            Atom::Base(base) => inner(base)?,
            Atom::Absolute(polynomial) => inner(polynomial)?.abs(),
            Atom::Sine(argument) => inner(argument)?.sin(),
            Atom::Cosine(argument) => inner(argument)?.cos(),
            Atom::Logarithm(argument) => {
                let (top, bottom) = (inner(&argument.numerator)?, inner(&argument.denominator)?);
                (top / bottom).ln()
            }
            Atom::Imaginary | Atom::Power(..) | Atom::Function(..) => return None,
        };
        (value.is_finite() && value > 0.0).then_some(value)
    }
}
