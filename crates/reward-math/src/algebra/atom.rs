//! The indeterminates of a normal form.

use dashu::Natural;

use super::fraction::Fraction;
use super::polynomial::{Monomial, Polynomial};

/// An indeterminate, with the rule by which its powers reduce.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Atom {
    /// A prime, or a factor without small divisors; exponents reduce into `[0, 1)`.
    Prime(Natural),
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
