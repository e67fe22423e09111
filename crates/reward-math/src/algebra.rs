//! Normal forms: fractions of polynomials over the rationals in *atoms* with rational exponents.
//!
//! Atoms are primes (so that `\sqrt{12}` is `2·3^{1/2}`), π, e, i, variables, and values of functions, to which roots of
//! sums and of variables belong. Every rewriting is an identity, so equal normal forms are equal values.
//!
//! For rational functions, radicals of rationals, π and i the converse holds too: powers of distinct primes with
//! exponents in `[0, 1)` are linearly independent over the rationals (Besicovitch 1940). Identities between values of
//! functions are not known here: enclosures decide them.

use dashu::base::BitTest;
use dashu::{Natural, Rational};

mod arithmetic;
mod function;
mod polynomial;
mod product;
mod root;
mod series;

use std::collections::BTreeMap;

pub(crate) use polynomial::{Fraction, Monomial, Polynomial, content};
pub(crate) use series::neighbours;

use crate::expression::{Expression, is_constant};
use crate::verdict::ParseError;

/// Largest size of an integer, in bits.
const MAX_BITS: u64 = 1 << 15;

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

/// Atoms of one comparison, and the fuel that is left.
#[derive(Default)]
pub(crate) struct Algebra {
    atoms: Vec<Atom>,
    ids: BTreeMap<Atom, u32>,
    pub(crate) fuel: u64,
}

/// A variable, and the exponents and coefficients of a polynomial in it.
type Powers<'a> = (Option<&'a str>, Vec<(i32, &'a Rational)>);

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

impl Algebra {
    pub(crate) fn new(fuel: u64) -> Self {
        Self { fuel, ..Self::default() }
    }

    /// Pays for some work before it is done.
    pub(crate) fn spend(&mut self, steps: u64) -> Result<()> {
        self.fuel = self.fuel.checked_sub(steps).ok_or(ParseError::OutOfFuel)?;
        Ok(())
    }

    /// Makes atoms of these variables and of the smallest primes first.
    ///
    /// The order of later atoms then does not depend on the order of writing.
    pub(crate) fn name_in_order(&mut self, names: &[String]) {
        for name in names {
            self.symbol(name);
        }
        for prime in [2_u32, 3, 5, 7, 11, 13] {
            self.intern(Atom::Prime(prime.into()));
        }
    }

    pub(crate) fn atom(&self, id: u32) -> &Atom {
        &self.atoms[id as usize]
    }

    fn intern(&mut self, atom: Atom) -> u32 {
        if let Some(&id) = self.ids.get(&atom) {
            return id;
        }
        let id = u32::try_from(self.atoms.len()).unwrap_or(u32::MAX);
        self.atoms.push(atom.clone());
        self.ids.insert(atom, id);
        id
    }

    /// Returns the fraction that consists of this atom.
    fn of_atom(&mut self, atom: Atom) -> Fraction {
        let id = self.intern(atom);
        Fraction::from(Polynomial::term(vec![(id, Rational::ONE)], Rational::ONE))
    }

    /// Returns the normal form of an expression.
    pub(crate) fn normalise(&mut self, expression: &Expression) -> Result<Fraction> {
        self.spend(3)?;
        Ok(match expression {
            Expression::Number(value) => Fraction::constant(value.clone()),
            Expression::Symbol(name) => self.symbol(name),
            Expression::Sum(items) => {
                // Terms without denominators are summed in place: a long sum costs no more than its terms.
                let mut gathered = Polynomial::zero();
                let mut rest = Fraction::zero();
                for item in items {
                    let item = self.normalise(item)?;
                    match item.as_polynomial() {
                        Some(polynomial) => {
                            for (_, coefficient) in polynomial.terms() {
                                let other = gathered.leading().unwrap_or(coefficient);
                                self.spend_on(coefficient, other)?;
                            }
                            gathered.add(polynomial);
                        }
                        None => rest = self.add(&rest, &item)?,
                    }
                }
                let gathered = Fraction::from(gathered);
                if rest.numerator.is_zero() { gathered } else { self.add(&rest, &gathered)? }
            }
            Expression::Product(items) => {
                items.iter().try_fold(Fraction::one(), |product, item| {
                    let item = self.normalise(item)?;
                    self.multiply(&product, &item)
                })?
            }
            Expression::Negative(inner) => self.normalise(inner)?.negated(),
            Expression::Quotient(top, bottom) => {
                let (top, bottom) = (self.normalise(top)?, self.normalise(bottom)?);
                self.divide(&top, &bottom)?
            }
            Expression::Power(base, exponent) => {
                let (base, exponent) = (self.normalise(base)?, self.normalise(exponent)?);
                self.power(&base, &exponent)?
            }
            Expression::Root(radicand, index) => {
                let radicand = self.normalise(radicand)?;
                self.root(&radicand, *index)?
            }
            Expression::Function(name, arguments) => {
                if let Some(sum) = self.series(name, arguments)? {
                    return Ok(sum);
                }
                let arguments = arguments
                    .iter()
                    .map(|argument| self.normalise(argument))
                    .collect::<Result<Vec<_>>>()?;
                self.function(name, arguments)?
            }
        })
    }

    fn symbol(&mut self, name: &str) -> Fraction {
        let atom = if name == "i" { Atom::Imaginary } else { Atom::Symbol(name.to_owned()) };
        self.of_atom(atom)
    }

    /// Returns true for a value of roots and `i` alone.
    pub(crate) fn is_number(&self, value: &Fraction) -> bool {
        let number = |id: &u32| matches!(self.atom(*id), Atom::Prime(_) | Atom::Imaginary);
        let mut terms = value.numerator.terms().chain(value.denominator.terms());
        terms.all(|(monomial, _)| monomial.iter().all(|(id, _)| number(id)))
    }

    /// Returns true if two fractions are equal: the cross products have the same normal form.
    pub(crate) fn equal(&mut self, left: &Fraction, right: &Fraction) -> Result<bool> {
        if left == right {
            return Ok(true);
        }
        let first = self.multiply_polynomials(&left.numerator, &right.denominator)?;
        let second = self.multiply_polynomials(&right.numerator, &left.denominator)?;
        self.spend((first.len() + second.len()) as u64)?;
        Ok(first.plus(&second.scaled(&Rational::NEG_ONE)).is_zero())
    }

    /// Returns the only variable of a polynomial, if it has one, and its terms: an integer exponent and a coefficient each.
    pub(crate) fn powers<'a>(&'a self, polynomial: &'a Polynomial) -> Option<Powers<'a>> {
        let mut variable = None;
        let term = |(monomial, coefficient): (&'a Monomial, &'a Rational)| {
            let [(id, exponent)] = monomial.as_slice() else {
                return monomial.is_empty().then_some((0, coefficient));
            };
            let Atom::Symbol(name) = self.atom(*id) else { return None };
            let other = *variable.get_or_insert(name.as_str()) != name;
            let power = exponent.is_int() && !other && !is_constant(name);
            Some((i32::try_from(exponent.numerator()).ok().filter(|_| power)?, coefficient))
        };
        let terms = polynomial.terms().map(term).collect::<Option<_>>()?;
        Some((variable, terms))
    }

    /// Returns variable and coefficients `[c, b, a]` if the value is `a x² + b x + c` with rational numbers.
    pub(crate) fn quadratic(&self, value: &Fraction) -> Option<(String, [Rational; 3])> {
        let (variable, terms) = self.powers(value.as_polynomial()?)?;
        let mut coefficients = std::array::from_fn(|_| Rational::ZERO);
        for (power, coefficient) in terms {
            coefficients.get_mut(usize::try_from(power).ok()?)?.clone_from(coefficient);
        }
        Some((variable?.to_owned(), coefficients))
    }
}

/// Returns the bits of the larger of numerator and denominator.
pub(crate) fn bits(value: &Rational) -> u64 {
    value.numerator().bit_len().max(value.denominator().bit_len()) as u64
}

/// Returns the value of operations on rational numbers.
pub(crate) fn constant(expression: &Expression) -> Option<Rational> {
    const FUEL: u64 = 1000;
    let plain = !expression.any(&|node| {
        matches!(node, Expression::Symbol(_) | Expression::Root(..) | Expression::Function(..))
    });
    plain.then(|| Algebra::new(FUEL).normalise(expression).ok()?.as_constant())?
}
