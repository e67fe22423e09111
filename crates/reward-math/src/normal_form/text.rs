//! Fractions of polynomials and expressions as text.

use std::cell::Cell;
use std::collections::HashMap;
use std::sync::LazyLock;

use dashu::Rational;
use dashu::base::{Abs, Inverse, Signed};

use crate::algebra::{Algebra, Atom, Fraction, Monomial, Polynomial, content};
use crate::expression::{Expression, is_constant};
use crate::parser::function_name;
use crate::table::lists;

/// Notations of operations, by name and number of arguments, with `#1` for the first argument.
static NOTATIONS: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    include_str!("notations.txt").lines().filter_map(|line| line.split_once(": ")).collect()
});

/// Most atoms printed; an atom counts each time it is printed.
const MAX_ATOMS: usize = 400;

/// Atoms to print, and the number that may still be printed.
pub(super) struct Printer<'a> {
    algebra: &'a Algebra,
    left: Cell<usize>,
}

impl<'a> Printer<'a> {
    pub(super) fn new(algebra: &'a Algebra) -> Self {
        Self { algebra, left: Cell::new(MAX_ATOMS) }
    }

    /// Returns true if everything was printed.
    pub(super) fn is_complete(&self) -> bool {
        self.left.get() > 0
    }
}

/// Returns `a/b` with a denominator of coprime integer coefficients, the first of them positive.
pub(super) fn fraction(printer: &Printer<'_>, value: &Fraction) -> String {
    if value.as_polynomial().is_some() {
        return joined(&ordered(printer, &value.numerator), &Rational::ONE);
    }
    let below = ordered(printer, &value.denominator);
    let scale = primitive_scale(&below);
    let top = joined(&ordered(printer, &value.numerator), &scale);
    let bottom = joined(&below, &scale);
    format!("({top})/({bottom})")
}

/// Returns the polynomial with coprime integer coefficients, the first positive, and whether its sign was changed.
pub(super) fn primitive(printer: &Printer<'_>, value: &Polynomial) -> Option<(String, bool)> {
    if value.is_zero() {
        return None;
    }
    let terms = ordered(printer, value);
    let scale = primitive_scale(&terms);
    Some((joined(&terms, &scale), scale.is_negative()))
}

/// Returns `a : b` with coprime integers, or the parts themselves.
pub(super) fn ratio(printer: &Printer<'_>, parts: &[Fraction]) -> String {
    let numbers: Option<Vec<Rational>> = parts.iter().map(Fraction::as_constant).collect();
    let Some(numbers) = numbers else {
        let parts: Vec<String> = parts.iter().map(|part| fraction(printer, part)).collect();
        return parts.join(" : ");
    };
    let scale = content(numbers.iter()).inv();
    let parts: Vec<String> = numbers.iter().map(|number| (number * &scale).to_string()).collect();
    parts.join(" : ")
}

/// Returns the factor with which the coefficients are coprime integers, the first of them positive.
fn primitive_scale(terms: &[Term<'_>]) -> Rational {
    let scale = content(terms.iter().map(|term| term.coefficient)).inv();
    let turned = terms.first().is_some_and(|term| term.coefficient.is_negative());
    if turned { -scale } else { scale }
}

struct Term<'a> {
    degree: f64,
    factors: String,
    coefficient: &'a Rational,
}

/// Returns the terms by falling degree in the variables, then by their spelling.
fn ordered<'a>(printer: &Printer<'_>, value: &'a Polynomial) -> Vec<Term<'a>> {
    let mut terms: Vec<Term<'a>> = value
        .terms()
        .map(|(monomial, coefficient)| {
            let degree = monomial.iter().filter(|(id, _)| is_variable(printer.algebra.atom(*id)));
            let degree = degree.map(|(_, exponent)| exponent.to_f64().value()).sum();
            Term { degree, factors: product(printer, monomial), coefficient }
        })
        .collect();
    terms.sort_by(|a, b| b.degree.total_cmp(&a.degree).then_with(|| a.factors.cmp(&b.factors)));
    terms
}

fn is_variable(atom: &Atom) -> bool {
    matches!(atom, Atom::Symbol(name) if !is_constant(name))
}

/// Returns the terms times a number: `3*x^2 - 1/2*x + 2^(1/2)`.
fn joined(terms: &[Term<'_>], scale: &Rational) -> String {
    let mut text = String::new();
    for term in terms {
        let coefficient = term.coefficient * scale;
        let size = coefficient.clone().abs();
        text += match (text.is_empty(), coefficient.is_negative()) {
            (true, true) => "-",
            (true, false) => "",
            (false, true) => " - ",
            (false, false) => " + ",
        };
        match term.factors.as_str() {
            "" => text += &size.to_string(),
            factors if size.is_one() => text += factors,
            factors => text.extend([size.to_string().as_str(), "*", factors]),
        }
    }
    if text.is_empty() { "0".to_owned() } else { text }
}

/// Returns factors in order: primes by size, constants, variables by name, function values by spelling.
fn product(printer: &Printer<'_>, monomial: &Monomial) -> String {
    let mut factors: Vec<_> = monomial
        .iter()
        .map(|(id, exponent)| {
            let atom = printer.algebra.atom(*id);
            let (rank, prime) = match atom {
                Atom::Prime(prime) => (0, prime.to_f64().value()),
                Atom::Symbol(name) if is_constant(name) => (1, 0.0),
                Atom::Imaginary => (2, 0.0),
                Atom::Symbol(_) => (3, 0.0),
                Atom::Function(..) => (4, 0.0),
            };
            (rank, prime, power(printer, atom, exponent))
        })
        .collect();
    factors.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then_with(|| a.2.cmp(&b.2)));
    let factors: Vec<String> = factors.into_iter().map(|(_, _, text)| text).collect();
    factors.join("*")
}

fn power(printer: &Printer<'_>, atom: &Atom, exponent: &Rational) -> String {
    let Some(left) = printer.left.get().checked_sub(1) else { return "…".to_owned() };
    printer.left.set(left);
    let mut base = self::atom(printer, atom);
    if exponent.is_one() {
        return base;
    }
    if matches!(atom, Atom::Function(name, _) if name == "power") {
        base = format!("({base})");
    }
    if exponent.is_int() && !exponent.is_negative() {
        format!("{base}^{{{exponent}}}")
    } else {
        format!("{base}^({exponent})")
    }
}

fn atom(printer: &Printer<'_>, atom: &Atom) -> String {
    match atom {
        Atom::Prime(prime) => prime.to_string(),
        Atom::Imaginary => "i".to_owned(),
        Atom::Symbol(name) => symbol(name),
        Atom::Function(name, arguments) => {
            let arguments: Vec<String> =
                arguments.iter().map(|argument| fraction(printer, argument)).collect();
            function(name, &arguments)
        }
    }
}

/// Returns `x`, `\theta`, `x_{12}`, or `\vec v` with a space before a letter.
pub(super) fn symbol(name: &str) -> String {
    let Some((letter, index)) = name.split_once('_') else { return name.to_owned() };
    let primes = "'".repeat(index.matches('\'').count());
    format!("{letter}_{{{}}}{primes}", index.replace('\'', ""))
}

/// Returns a function or operation of some arguments.
pub(super) fn function(name: &str, arguments: &[String]) -> String {
    let all = arguments.join(", ");
    if let Some(notation) = NOTATIONS.get(format!("{name} {}", arguments.len()).as_str()) {
        let mut parts = notation.split('#');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (place, rest) = part.split_at(1);
            let argument = place.parse().ok().and_then(|place: usize| arguments.get(place - 1));
            text = text + argument.map_or("", String::as_str) + rest;
        }
        return text;
    }
    if let Some(index) = name.strip_prefix("root ") {
        return format!("\\sqrt[{index}]{{{all}}}");
    }
    let is_command = function_name(name).is_some() && !lists("gcd lcm max min", name);
    format!("{}{name}({all})", if is_command { "\\" } else { "" })
}

/// The expression in a notation that reads as the same expression.
pub(super) fn expression(value: &Expression) -> String {
    let one = |inner: &Expression| expression(inner);
    let all = |items: &[Expression], separator: &str| {
        items.iter().map(one).collect::<Vec<_>>().join(separator)
    };
    match value {
        Expression::Number(number) if number.is_int() => number.to_string(),
        Expression::Number(number) => format!("({number})"),
        Expression::Symbol(name) if name == "\\ldots" => "\\ldots ".to_owned(),
        Expression::Symbol(name) => symbol(name),
        Expression::Sum(items) => format!("({})", all(items, " + ")),
        Expression::Product(items) => format!("({})", all(items, "*")),
        Expression::Negative(inner) => match &**inner {
            // The lower end of an interval.
            Expression::Symbol(_) => format!("-{}", one(inner)),
            _ => format!("(-{})", one(inner)),
        },
        Expression::Quotient(top, bottom) => format!("\\frac{{{}}}{{{}}}", one(top), one(bottom)),
        Expression::Power(base, exponent) => format!("({})^{{{}}}", one(base), one(exponent)),
        Expression::Root(inner, 2) => format!("\\sqrt{{{}}}", one(inner)),
        Expression::Root(inner, index) => format!("\\sqrt[{index}]{{{}}}", one(inner)),
        Expression::Function(name, items) => {
            let arguments: Vec<String> = items.iter().map(one).collect();
            function(name, &arguments)
        }
    }
}
