//! Parsed expression trees.

use std::collections::BTreeSet;
use std::slice;

use dashu::Rational;

use crate::table::lists;

/// An expression. Sums and products are flat, so the depth of the tree is the depth of the brackets.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Expression {
    Number(Rational),
    /// A variable, or a constant: `\pi`, `e`, `i`.
    Symbol(String),
    Sum(Vec<Expression>),
    Product(Vec<Expression>),
    Negative(Box<Expression>),
    Quotient(Box<Expression>, Box<Expression>),
    Power(Box<Expression>, Box<Expression>),
    /// Radicand and index.
    Root(Box<Expression>, u32),
    /// A function by name, or one of these operations: `abs`, `factorial`, `double factorial`, `binomial`, `degrees` (of
    /// arc), `logarithm` (base and argument), `mod`, `pmod`, `pm` and `mp` (`\pm`, `\mp`), `sum` and `prod` (index, its
    /// first and last value, body), `int` (variable, both ends or none, body).
    Function(String, Vec<Expression>),
}

/// Makes an operator write an operation down: nothing is calculated.
macro_rules! operator {
    ($name:ident, $method:ident, $written:expr) => {
        impl std::ops::$name for Expression {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                let written: fn(Self, Self) -> Self = $written;
                written(self, other)
            }
        }
    };
}

operator!(Add, add, |a, b| Self::Sum(vec![a, b]));
operator!(Sub, sub, |a, b| a + -b);
operator!(Mul, mul, |a, b| Self::Product(vec![a, b]));
operator!(Div, div, |a, b| Self::Quotient(Box::new(a), Box::new(b)));

impl std::ops::Neg for Expression {
    type Output = Self;

    fn neg(self) -> Self {
        Self::Negative(Box::new(self))
    }
}

impl Expression {
    pub(crate) fn function(name: &str, arguments: impl Into<Vec<Self>>) -> Self {
        Self::Function(name.to_owned(), arguments.into())
    }

    pub(crate) fn power(base: Self, exponent: Self) -> Self {
        Self::Power(Box::new(base), Box::new(exponent))
    }

    pub(crate) fn root(radicand: Self, index: u32) -> Self {
        Self::Root(Box::new(radicand), index)
    }

    pub(crate) fn symbol(name: &str) -> Self {
        Self::Symbol(name.to_owned())
    }

    pub(crate) fn integer(value: i64) -> Self {
        Self::Number(Rational::from(value))
    }

    /// Returns the expression that stands for a matrix until its sum or product is read.
    pub(crate) fn matrix(rows: impl IntoIterator<Item = Vec<Self>>) -> Self {
        let rows: Vec<_> = rows.into_iter().map(|row| Self::function("row", row)).collect();
        Self::function("matrix", rows)
    }

    /// Returns the product of several factors, the only factor, or 1.
    pub(crate) fn product(mut factors: Vec<Self>) -> Self {
        match factors.len() {
            0 => Self::integer(1),
            1 => factors.remove(0),
            _ => Self::Product(factors),
        }
    }

    /// Returns the sum of several terms, or the only term.
    pub(crate) fn sum(mut terms: Vec<Self>) -> Self {
        if terms.len() == 1 { terms.remove(0) } else { Self::Sum(terms) }
    }

    /// Returns the arguments of the function or operation of this name.
    pub(crate) fn arguments_of(&self, name: &str) -> Option<&[Self]> {
        match self {
            Self::Function(own, arguments) if own == name => Some(arguments),
            _ => None,
        }
    }

    /// Returns the value, if the expression is a literal with an optional sign.
    pub(crate) fn literal(&self) -> Option<Rational> {
        match self {
            Self::Number(value) => Some(value.clone()),
            Self::Negative(inner) => inner.literal().map(|value| -value),
            _ => None,
        }
    }

    /// Returns the value of a literal that is an integer, if it is not too large.
    pub(crate) fn as_integer(&self) -> Option<i64> {
        i64::try_from(self.literal().filter(Rational::is_int)?.numerator()).ok()
    }

    pub(crate) fn as_symbol(&self) -> Option<&str> {
        if let Self::Symbol(name) = self { Some(name) } else { None }
    }

    pub(crate) fn is_symbol(&self, name: &str) -> bool {
        self.as_symbol() == Some(name)
    }

    /// Returns true if the symbol of this name occurs.
    pub(crate) fn holds(&self, name: &str) -> bool {
        self.any(&|node| node.is_symbol(name))
    }

    pub(crate) fn size(&self) -> usize {
        1 + self.parts().map(Self::size).sum::<usize>()
    }

    pub(crate) fn any(&self, holds: &dyn Fn(&Self) -> bool) -> bool {
        holds(self) || self.parts().any(|part| part.any(holds))
    }

    /// Returns true for a function or operation whose name is on a list with spaces between.
    pub(crate) fn is_call(&self, names: &str) -> bool {
        matches!(self, Self::Function(name, _) if lists(names, name))
    }

    /// Returns true if such a function or operation occurs.
    pub(crate) fn calls(&self, names: &str) -> bool {
        self.any(&|node| node.is_call(names))
    }

    /// Returns true if a matrix stands in it whose sum or product is not calculated yet.
    pub(crate) fn holds_matrix(&self) -> bool {
        self.calls("matrix")
    }

    /// Returns the parts directly below.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Self> {
        let (first, second): (&[Self], &[Self]) = match self {
            Self::Number(_) | Self::Symbol(_) => (&[], &[]),
            Self::Sum(items) | Self::Product(items) | Self::Function(_, items) => (items, &[]),
            Self::Negative(a) | Self::Root(a, _) => (slice::from_ref(a), &[]),
            Self::Quotient(a, b) | Self::Power(a, b) => (slice::from_ref(a), slice::from_ref(b)),
        };
        first.iter().chain(second)
    }

    /// Returns true if only the four operations and integer powers occur: the normal form then decides.
    pub(crate) fn is_rational_function(&self) -> bool {
        !self.any(&|node| match node {
            Self::Root(..) | Self::Function(..) => true,
            Self::Power(_, exponent) => {
                !exponent.literal().is_some_and(|exponent| exponent.is_int())
            }
            _ => false,
        })
    }

    /// Returns the complex conjugate, if the variables are real.
    pub(crate) fn conjugate(&self) -> Self {
        self.with("i", &-Self::symbol("i"))
    }

    pub(crate) fn renamed(&self, from: &str, to: &str) -> Self {
        self.with(from, &Self::symbol(to))
    }

    /// Returns the expression with some of its symbols replaced.
    pub(crate) fn substituted(&self, value: &dyn Fn(&str) -> Option<Self>) -> Self {
        self.replaced(&|node| value(node.as_symbol()?))
    }

    /// Returns the expression with the outermost nodes for which `new` has another replaced by it.
    pub(crate) fn replaced(&self, new: &dyn Fn(&Self) -> Option<Self>) -> Self {
        if let Some(other) = new(self) {
            return other;
        }
        let one = |inner: &Self| Box::new(inner.replaced(new));
        let all = |items: &[Self]| items.iter().map(|item| item.replaced(new)).collect();
        match self {
            Self::Number(_) | Self::Symbol(_) => self.clone(),
            Self::Sum(items) => Self::Sum(all(items)),
            Self::Product(items) => Self::Product(all(items)),
            Self::Negative(a) => Self::Negative(one(a)),
            Self::Quotient(a, b) => Self::Quotient(one(a), one(b)),
            Self::Power(a, b) => Self::Power(one(a), one(b)),
            Self::Root(a, index) => Self::Root(one(a), *index),
            Self::Function(name, items) => match items.as_slice() {
                // The index of a sum hides a variable of the same name.
                [index, low, high, body] if binds(name) && new(index).is_some() => {
                    let [low, high] = [low, high].map(|end| end.replaced(new));
                    Self::function(name, [index.clone(), low, high, body.clone()])
                }
                items => Self::Function(name.clone(), all(items)),
            },
        }
    }

    pub(crate) fn with(&self, variable: &str, value: &Self) -> Self {
        self.substituted(&|name| (name == variable).then(|| value.clone()))
    }

    /// Returns the names of the variables that are free.
    pub(crate) fn variables(&self) -> BTreeSet<String> {
        let mut names = BTreeSet::new();
        self.each_variable(false, &mut |name, _| _ = names.insert(name));
        names.into_iter().map(str::to_owned).collect()
    }

    /// Returns true if it holds a variable, that is a symbol other than π, e, i and the index of a sum.
    pub(crate) fn has_variable(&self) -> bool {
        let mut any = false;
        self.each_variable(false, &mut |_, _| any = true);
        any
    }

    /// Visits the free variables, with true for integers: those under factorials and binomials, and in the ends of sums.
    pub(crate) fn each_variable<'a>(&'a self, whole: bool, visit: &mut dyn FnMut(&'a str, bool)) {
        match self {
            Self::Symbol(name) if !is_constant(name) => visit(name, whole),
            Self::Power(a, b) => {
                a.each_variable(whole, visit);
                // (-1)^n is real only for integer n, and so may be (-1/3)^n and (1 - \sqrt5)^n.
                let signed = matches!(**a, Self::Sum(_) | Self::Quotient(..) | Self::Negative(_));
                let negative =
                    a.literal().map_or(signed && !a.has_variable(), |base| base < Rational::ZERO);
                b.each_variable(whole, &mut |name, is_whole| {
                    visit(name, is_whole || negative && !is_real(name));
                });
            }
            Self::Function(name, parts) if parts.len() == 4 && binds(name) => {
                parts[1].each_variable(is_series(name), visit);
                parts[2].each_variable(is_series(name), visit);
                parts[3].each_variable(whole, &mut |name, is_whole| {
                    if !parts[0].is_symbol(name) {
                        visit(name, is_whole);
                    }
                });
            }
            other => {
                let counts = other.is_call("factorial binomial mod gcd lcm");
                for part in other.parts() {
                    part.each_variable(whole || counts, visit);
                }
            }
        }
    }
}

/// Returns true if the symbol is a constant rather than a variable.
pub(crate) fn is_constant(name: &str) -> bool {
    matches!(name, "\\pi" | "e" | "i" | "\\infty")
}

/// Returns true for `\sum` and `\prod`.
fn is_series(name: &str) -> bool {
    name == "sum" || name == "prod"
}

/// Returns true for an operation whose first argument is a name that means nothing outside of it.
pub(crate) fn binds(name: &str) -> bool {
    is_series(name) || name == "int"
}

/// Returns true for the usual names of real variables; other letters are lengths or counts.
pub(crate) fn is_real(name: &str) -> bool {
    name.starts_with(['x', 'y', 'z', 't'])
}
