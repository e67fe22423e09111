//! Parsed expression trees.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use dashu::Rational;

/// Values by the names of variables.
pub(crate) type Assignments<'a> = BTreeMap<&'a str, &'a Expression>;

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
    Absolute(Box<Expression>),
    Factorial(Box<Expression>),
    Binomial(Box<Expression>, Box<Expression>),
    /// Base (`None`: natural) and argument.
    Logarithm(Option<Box<Expression>>, Box<Expression>),
    /// A function by name.
    Function(String, Vec<Expression>),
    /// Degrees of arc.
    Degrees(Box<Expression>),
    /// `\sum` or `\prod` of the body over the integers from low to high.
    Series {
        range: Range,
        index: String,
        low: Box<Expression>,
        high: Box<Expression>,
        body: Box<Expression>,
    },
    /// `\pm a`, or `\mp a` when the flag is set.
    PlusMinus(Box<Expression>, bool),
}

/// Operation that joins the terms of a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Range {
    Sum,
    Product,
}

impl Expression {
    /// Returns the value, if the expression is a literal with an optional sign.
    pub(crate) fn literal(&self) -> Option<Rational> {
        match self {
            Self::Number(value) => Some(value.clone()),
            Self::Negative(inner) => inner.literal().map(|value| -value),
            _ => None,
        }
    }

    /// Returns true if any node satisfies the predicate.
    pub(crate) fn any(&self, holds: &dyn Fn(&Self) -> bool) -> bool {
        holds(self) || self.any_part(&mut |part| part.any(holds))
    }

    /// Returns true if one of the parts directly below satisfies the predicate.
    pub(crate) fn any_part<'a>(&'a self, holds: &mut dyn FnMut(&'a Self) -> bool) -> bool {
        match self {
            Self::Number(_) | Self::Symbol(_) => false,
            Self::Sum(items) | Self::Product(items) | Self::Function(_, items) => {
                items.iter().any(holds)
            }
            Self::Negative(a)
            | Self::Root(a, _)
            | Self::Absolute(a)
            | Self::Factorial(a)
            | Self::Degrees(a)
            | Self::PlusMinus(a, _)
            | Self::Logarithm(None, a) => holds(a),
            Self::Quotient(a, b)
            | Self::Power(a, b)
            | Self::Binomial(a, b)
            | Self::Logarithm(Some(a), b) => holds(a) || holds(b),
            Self::Series { low, high, body, .. } => holds(low) || holds(high) || holds(body),
        }
    }

    /// Returns true if only the four operations and integer powers occur: the normal form then decides.
    pub(crate) fn is_rational_function(&self) -> bool {
        !self.any(&|node| match node {
            Self::Number(_)
            | Self::Symbol(_)
            | Self::Sum(_)
            | Self::Product(_)
            | Self::Negative(_)
            | Self::Quotient(..)
            | Self::PlusMinus(..) => false,
            Self::Power(_, exponent) => {
                !exponent.literal().is_some_and(|exponent| exponent.is_int())
            }
            _ => true,
        })
    }

    /// Returns the expression with one variable renamed.
    pub(crate) fn renamed(&self, from: &str, to: &str) -> Self {
        self.substituted(&|name| (name == from).then(|| Self::Symbol(to.to_owned())))
    }

    /// Returns the expression with some of its symbols replaced.
    pub(crate) fn substituted(&self, value: &dyn Fn(&str) -> Option<Self>) -> Self {
        let one = |inner: &Self| Box::new(inner.substituted(value));
        let all = |items: &[Self]| items.iter().map(|item| item.substituted(value)).collect();
        match self {
            Self::Symbol(name) => value(name).unwrap_or_else(|| self.clone()),
            Self::Number(_) => self.clone(),
            Self::Sum(items) => Self::Sum(all(items)),
            Self::Product(items) => Self::Product(all(items)),
            Self::Function(name, items) => Self::Function(name.clone(), all(items)),
            Self::Negative(a) => Self::Negative(one(a)),
            Self::Quotient(a, b) => Self::Quotient(one(a), one(b)),
            Self::Power(a, b) => Self::Power(one(a), one(b)),
            Self::Root(a, index) => Self::Root(one(a), *index),
            Self::Absolute(a) => Self::Absolute(one(a)),
            Self::Factorial(a) => Self::Factorial(one(a)),
            Self::Binomial(a, b) => Self::Binomial(one(a), one(b)),
            Self::Logarithm(base, a) => {
                Self::Logarithm(base.as_ref().map(|base| one(base)), one(a))
            }
            Self::Degrees(a) => Self::Degrees(one(a)),
            Self::PlusMinus(a, flipped) => Self::PlusMinus(one(a), *flipped),
            Self::Series { range, index, low, high, body } => Self::Series {
                range: *range,
                index: index.clone(),
                low: one(low),
                high: one(high),
                // The index hides a variable of the same name.
                body: if value(index).is_some() { body.clone() } else { one(body) },
            },
        }
    }

    /// Returns the expression with variables replaced by their values.
    pub(crate) fn with(&self, known: &Assignments<'_>) -> Self {
        self.substituted(&|name| known.get(name).map(|value| (*value).clone()))
    }

    /// Returns the names of the variables.
    pub(crate) fn variables(&self) -> BTreeSet<String> {
        let names = RefCell::new(BTreeSet::new());
        self.any(&|node| {
            if let Self::Symbol(name) = node
                && !is_constant(name)
            {
                names.borrow_mut().insert(name.clone());
            }
            false
        });
        names.into_inner()
    }

    /// Returns true if it holds a variable, that is a symbol other than π, e, i and the index of a sum.
    pub(crate) fn has_variable(&self) -> bool {
        let indexes = |name: &str| {
            self.any(&|node| matches!(node, Self::Series { index, .. } if index == name))
        };
        self.any(&|node| matches!(node, Self::Symbol(name) if !is_constant(name) && !indexes(name)))
    }
}

/// Returns true if the symbol is a constant rather than a variable.
pub(crate) fn is_constant(name: &str) -> bool {
    matches!(name, "\\pi" | "e" | "i" | "\\infty")
}
