//! The indeterminates of a normal form.

use dashu::Natural;

use super::fraction::Fraction;

/// An indeterminate, with the rule by which its powers reduce.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Atom {
    /// A prime, or a factor without small divisors; exponents reduce into `[0, 1)`.
    Prime(Natural),
    /// `i`, with `i² = -1`.
    Imaginary,
    /// A variable or a transcendental constant; exponents are free.
    Symbol(String),
    /// A function value, a root of a sum or a symbolic power.
    Function(String, Vec<Fraction>),
}
