//! Units of two values: conversions, percent signs, letters that name a unit.

use dashu::{Integer, Rational};

use super::{Comparison, Finding, Result};
use crate::expression::Expression;
use crate::table::lists;
use crate::verdict::Rung;
use crate::words;

impl Comparison {
    /// Compares values whose units differ: converted ones, contradicting ones, dozens.
    pub(super) fn in_other_units(
        &mut self,
        (a, a_unit): (&Expression, Option<&str>),
        (b, b_unit): (&Expression, Option<&str>),
    ) -> Result<Option<Finding>> {
        // `n \text{ even}` and `n \text{ odd}`: kinds of numbers.
        if let (Some(kind), Some(other)) = (a_unit, b_unit)
            && a.as_symbol().is_some()
            && ![kind, other].into_iter().any(words::is_measure)
            && !words::same(kind, other)
        {
            return self.shapes(Rung::Words, kind, other).map(Some);
        }
        // "3 dozen" is 36, and 3 of something that the other side leaves out.
        let dozens =
            |unit: Option<&str>| unit.is_some_and(|unit| unit.split(' ').next() == Some("dozen"));
        if dozens(a_unit) != dozens(b_unit) {
            let [first, second] = [(a, a_unit), (b, b_unit)].map(|(value, unit)| {
                if dozens(unit) { scaled(value, Rational::from(12)) } else { value.clone() }
            });
            let finding = self.expressions(&first, &second)?;
            let decided = finding.0 || a_unit.is_some() && b_unit.is_some();
            return Ok(Some(if decided { finding } else { self.expressions(a, b)? }));
        }
        // 2.5 km and 2500 m.
        if let (Some(from), Some(to)) = (a_unit, b_unit)
            && from != to
        {
            if let (Some(first), Some(second)) = (in_kelvins(a, from), in_kelvins(b, to)) {
                let (equal, _) = self.expressions(&first, &second)?;
                return Ok(Some((equal, Rung::Unit)));
            }
            if let Some(factor) = words::conversion(from, to) {
                let (equal, _) = self.expressions(&scaled(a, factor), b)?;
                return Ok(Some((equal, Rung::Unit)));
            }
            if words::contradict(from, to) {
                return self.shapes(Rung::Unit, from, to).map(Some);
            }
        }
        Ok(None)
    }
}

/// Returns a temperature in kelvins.
fn in_kelvins(value: &Expression, scale: &str) -> Option<Expression> {
    let above = |hundredths: i64| {
        value.clone() + Expression::integer(hundredths) / Expression::integer(100)
    };
    match scale {
        "kelvin" => Some(value.clone()),
        "celsius" => Some(above(27_315)),
        "fahrenheit" => Some(scaled(&above(45_967), Rational::from_parts(5.into(), 9_u8.into()))),
        _ => None,
    }
}

/// Returns a value as it is beside another unit: 50% is 0.5, and 90° is π/2 if the other side holds π.
pub(super) fn beside(
    value: &Expression,
    unit: Option<&str>,
    other: &Expression,
    other_unit: Option<&str>,
) -> Expression {
    let in_radians = |node: &Expression| match node {
        Expression::Symbol(name) => name == "\\pi",
        Expression::Function(name, _) => name.starts_with("arc"),
        _ => false,
    };
    match (unit, other_unit) {
        (Some("percent"), _) if unit != other_unit => {
            scaled(value, Rational::from_parts(Integer::ONE, 100_u8.into()))
        }
        (Some("degree"), Some("radian")) => Expression::function("degrees", [value.clone()]),
        (Some("degree"), None) if other.any(&in_radians) => {
            Expression::function("degrees", [value.clone()])
        }
        _ => value.clone(),
    }
}

/// Returns true for a value with a percent sign beside a whole number greater than 2: 1200% is not 12.
pub(super) fn counts_percents(
    unit: Option<&str>,
    other: &Expression,
    other_unit: Option<&str>,
) -> bool {
    let large = |number: Rational| number > 2.into() && number.is_int();
    unit == Some("percent") && other_unit.is_none() && other.literal().is_some_and(large)
}

/// Returns the value of a product whose last letters name a unit, in the unit of the other side.
pub(super) fn in_letters(
    letters: &Expression,
    unit: Option<&str>,
    other: Option<&str>,
) -> Option<Expression> {
    let other = other.filter(|_| unit.is_none())?;
    let (value, named) = letters_as_unit(letters)?;
    let factor = if named == other { Rational::ONE } else { words::conversion(&named, other)? };
    Some(scaled(&value, factor))
}

/// Reads `5m` as 5 with the unit that its last letters may be.
fn letters_as_unit(expression: &Expression) -> Option<(Expression, String)> {
    let Expression::Product(factors) = expression else { return None };
    let letters = factors.iter().rev().take_while(|factor| letter(factor).is_some()).count();
    let (before, letters) = factors.split_at(factors.len() - letters.min(factors.len() - 1));
    let phrase: Vec<&str> = letters.iter().filter_map(letter).collect();
    Some((Expression::product(before.to_vec()), words::unit(&phrase.join(" "))?))
}

/// Returns a single letter that may be a unit.
fn letter(expression: &Expression) -> Option<&str> {
    // Units named after people have a capital letter: `5n` is no force.
    let is_unit = |name: &&str| name.len() == 1 && !lists("n j v w a k c", name);
    expression.as_symbol().filter(is_unit)
}

fn scaled(expression: &Expression, factor: Rational) -> Expression {
    Expression::Number(factor) * expression.clone()
}
