//! Comparison of numbers and expressions: units, percent signs, exact values, normal forms.

use dashu::{Integer, Rational};

use super::difference::Difference;
use super::member::letters_as_unit;
use super::{Comparison, Finding, Result};
use crate::answer::Node;
use crate::expression::Expression;
use crate::numeric;
use crate::table::lists;
use crate::verdict::{ParseError, Rung};
use crate::words;

impl Comparison {
    #[expect(clippy::too_many_lines, reason = "the rules of one decision, in their order")]
    pub(super) fn values(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        let (
            Node::Value { expression: a, unit: a_unit, percent: a_percent },
            Node::Value { expression: b, unit: b_unit, percent: b_percent },
        ) = (left, right)
        else {
            return Ok((false, Rung::Kind));
        };
        // Two literals, without copies: lists hold thousands of them.
        if let (Expression::Number(a), Expression::Number(b)) = (a, b)
            && a_unit.is_none()
            && b_unit.is_none()
            && !a_percent
            && !b_percent
        {
            return self.numbers(a, b, a == b);
        }
        if let Some(found) = self.residues(a, b)? {
            return Ok(found);
        }
        if same_number_set(a, b) {
            return Ok((true, Rung::NormalForm));
        }
        // "5 m" against a side that spells the unit out.
        if let Some(value) = in_letters(a, a_unit.as_ref(), b_unit.as_ref()) {
            return self.expressions(&value, b);
        }
        if let Some(value) = in_letters(b, b_unit.as_ref(), a_unit.as_ref()) {
            return self.expressions(a, &value);
        }
        // 2.5 km and 2500 m.
        if let (Some(a_unit_name), Some(unit)) = (a_unit, b_unit)
            && a_unit_name != unit
            && !a_percent
            && !b_percent
            && let Some(factor) = words::conversion(a_unit_name, unit)
        {
            let (equal, _) = self.expressions(&scaled(a, factor), b)?;
            return Ok((equal, Rung::Unit));
        }
        let contradict = match (a_unit, b_unit) {
            (Some(a), Some(b)) => a != b && words::contradict(a, b),
            // A percentage is no length and no amount of money.
            (Some(_), None) => *b_percent && !*a_percent,
            (None, Some(_)) => *a_percent && !*b_percent,
            (None, None) => false,
        };
        if contradict {
            let name = |unit: &Option<String>| unit.clone().unwrap_or_else(|| "%".to_owned());
            return self.shapes(Rung::Unit, name(a_unit), name(b_unit));
        }
        // 90° is π/2 if the other side has no unit and contains π.
        let degrees = |unit: &Option<String>| unit.as_deref() == Some("degree");
        let in_radians = |expression: &Expression| {
            expression.any(&|node| match node {
                Expression::Symbol(name) => name == "\\pi",
                Expression::Function(name, _) => name.starts_with("arc"),
                _ => false,
            })
        };
        let convert_a = degrees(a_unit) && b_unit.is_none() && in_radians(b);
        let convert_b = degrees(b_unit) && a_unit.is_none() && in_radians(a);
        if let Some(found) = infinities(a, b) {
            let sign =
                |value: &Expression| if holds_infinity(value) { "infinite" } else { "finite" };
            return match found? {
                true => Ok((true, Rung::NormalForm)),
                false if holds_infinity(a) && holds_infinity(b) => {
                    self.shapes(Rung::NormalForm, format!("{a:?}"), format!("{b:?}"))
                }
                false => self.shapes(Rung::NormalForm, sign(a), sign(b)),
            };
        }
        let in_degrees = |expression: &Expression, convert: bool| {
            if convert {
                Expression::function("degrees", [expression.clone()])
            } else {
                expression.clone()
            }
        };
        let (a, b) = (in_degrees(a, convert_a), in_degrees(b, convert_b));
        if a_percent != b_percent {
            return self.percent_forms((&a, *a_percent), (&b, *b_percent));
        }
        let finding = self.expressions(&a, &b);
        if matches!(finding, Ok((true, _))) {
            return finding;
        }
        for renamed in with_same_constants(&a, &b) {
            let renamed = self.expressions(&renamed, &b)?;
            if renamed.0 {
                return Ok(renamed);
            }
        }
        finding
    }

    /// Compares two expressions without units: by normal forms, then by enclosures if these do not decide.
    pub(super) fn expressions(&mut self, a: &Expression, b: &Expression) -> Result<Finding> {
        self.algebra.spend(4)?;
        let finding = self.normal_forms(a, b);
        let decided = match &finding {
            Ok((equal, how)) => {
                *equal
                    || *how == Rung::Number
                    || (a.is_rational_function() && b.is_rational_function())
            }
            Err(_) => false,
        };
        if decided {
            return finding;
        }
        match numeric::compare(a, b, &mut self.enclosure_fuel) {
            numeric::EnclosureComparison::Equal => Ok((true, Rung::Enclosure)),
            numeric::EnclosureComparison::Different(apart) => {
                self.differ(Rung::Enclosure, Difference::Apart(apart))
            }
            numeric::EnclosureComparison::Unknown => {
                self.undecided |= finding.is_ok();
                finding
            }
        }
    }

    /// Returns true if an exact value equals a decimal up to a unit.
    pub(super) fn rounds_to(&mut self, response: &[Node], gold: &[Node], unit: &Rational) -> bool {
        let ([Node::Value { expression, .. }], [Node::Value { expression: decimal, .. }]) =
            (response, gold)
        else {
            return false;
        };
        decimal.literal().is_some_and(|decimal| {
            numeric::is_within(expression, &decimal, unit, &mut self.enclosure_fuel)
        })
    }

    fn normal_forms(&mut self, a: &Expression, b: &Expression) -> Result<Finding> {
        let (first, second) = (self.algebra.normalise(a)?, self.algebra.normalise(b)?);
        if let (Some(a), Some(b)) = (first.as_constant(), second.as_constant()) {
            return self.numbers(&a, &b, a == b);
        }
        if self.algebra.equal(&first, &second)? {
            return Ok((true, Rung::NormalForm));
        }
        self.differ(Rung::NormalForm, Difference::Expressions(a.clone(), b.clone()))
    }

    pub(super) fn numbers(&mut self, a: &Rational, b: &Rational, equal: bool) -> Result<Finding> {
        if equal {
            return Ok((true, Rung::Number));
        }
        self.differ(Rung::Number, Difference::Numbers(a.clone(), b.clone()))
    }

    fn percent_forms(
        &mut self,
        (a, a_percent): (&Expression, bool),
        (b, b_percent): (&Expression, bool),
    ) -> Result<Finding> {
        let hundredth = || Rational::from_parts(Integer::ONE, 100_u8.into());
        let of_percent = |value: &Expression, percent: bool| {
            if percent { scaled(value, hundredth()) } else { value.clone() }
        };
        let (first, second) = (of_percent(a, a_percent), of_percent(b, b_percent));
        let exact = self.expressions(&first, &second);
        if matches!(exact, Ok((true, _))) {
            return exact;
        }
        self.expressions(a, b)
    }

    pub(super) fn ratios(&mut self, left: &[Expression], right: &[Expression]) -> Result<Finding> {
        if left.len() != right.len() {
            return self.shapes(Rung::Structure, left.len().to_string(), right.len().to_string());
        }
        // `1:00` is a time of day: no multiple of it is equal.
        if is_time(left) && is_time(right) && left != right {
            return self.shapes(Rung::Number, format!("{left:?}"), format!("{right:?}"));
        }
        let product = |one: &Expression, other: &Expression| {
            Expression::Product(vec![one.clone(), other.clone()])
        };
        for (a, b) in left.iter().zip(right).skip(1) {
            let crossed = self.expressions(&product(a, &right[0]), &product(&left[0], b))?;
            if !crossed.0 {
                return Ok(crossed);
            }
        }
        for first in [&left[0], &right[0]] {
            if left != right && self.expressions(first, &Expression::integer(0))?.0 {
                return self.shapes(Rung::NormalForm, "nothing", "something");
            }
        }
        Ok((true, Rung::NormalForm))
    }
}

/// Returns true for hours and the minutes behind them, with two digits: `4:30` is not twice `2:15`.
///
/// Seconds of zero stand behind minutes that begin with a zero.
fn is_time(parts: &[Expression]) -> bool {
    let within = |value: &Expression, low: i32, high: i32| {
        matches!(value, Expression::Number(value)
            if value.is_int() && *value >= Rational::from(low) && *value <= Rational::from(high))
    };
    match parts {
        [hours, minutes] => within(hours, 0, 24) && within(minutes, 10, 59),
        [hours, minutes, seconds] => {
            within(hours, 0, 24) && within(minutes, 0, 59) && within(seconds, 0, 0)
        }
        _ => false,
    }
}

/// Returns the value of a product whose last letters name a unit, in the unit of the other side.
fn in_letters(
    letters: &Expression,
    unit: Option<&String>,
    other: Option<&String>,
) -> Option<Expression> {
    let other = other.filter(|_| unit.is_none())?;
    let (value, named) = letters_as_unit(letters)?;
    let factor = if named == *other { Rational::ONE } else { words::conversion(&named, other)? };
    Some(scaled(&value, factor))
}

fn scaled(expression: &Expression, factor: Rational) -> Expression {
    Expression::Product(vec![Expression::Number(factor), expression.clone()])
}

/// Renames the constants of integration of the left side as on the right, in each order, if only their names differ.
fn with_same_constants(left: &Expression, right: &Expression) -> Vec<Expression> {
    const MOST: usize = 3;
    let (left_names, right_names) = (left.variables(), right.variables());
    let is_constant = |name: &&String| {
        let (letter, index) = name.split_once('_').unwrap_or((name, "0"));
        matches!(letter, "C" | "K" | "c" | "k" | "A" | "B" | "D")
            && index.bytes().all(|byte| byte.is_ascii_digit())
    };
    let mut from: Vec<&String> = left_names.difference(&right_names).collect();
    let mut to: Vec<&String> = right_names.difference(&left_names).collect();
    // `C_1` and `C_2` in exchanged places.
    let exchanged = from.is_empty() && to.is_empty();
    if exchanged {
        from =
            left_names.iter().filter(|name| name.starts_with("C_")).filter(is_constant).collect();
        to.clone_from(&from);
    }
    // A summand beside a function of another variable, as integration leaves it.
    let is_added = |expression: &Expression, name: &str| match expression {
        Expression::Sum(items) => {
            items.iter().any(|item| matches!(item, Expression::Symbol(own) if own == name))
        }
        _ => false,
    };
    let numbered = |names: &[&String]| names.iter().all(|name| name.contains('_'));
    // `A\cos x + B\sin x`: a general solution has functions of a variable.
    let general = left_names.len() > from.len() && !left.is_rational_function();
    let fits = match (from.as_slice(), to.as_slice()) {
        ([from], [to]) => left_names.len() > 1 && is_added(left, from) && is_added(right, to),
        (from, to) => {
            from.len() == to.len()
                && from.len() <= MOST
                && (general || !exchanged && (numbered(from) || numbered(to)))
        }
    };
    if from.is_empty() || !fits || !from.iter().chain(&to).all(is_constant) {
        return Vec::new();
    }
    let renamed = |order: Vec<&String>| {
        left.substituted(&|name| {
            let position = from.iter().position(|known| *known == name)?;
            Some(Expression::Symbol(order[position].clone()))
        })
    };
    orders(&to).into_iter().map(renamed).collect()
}

/// Returns the items in each order.
fn orders<'a>(items: &[&'a String]) -> Vec<Vec<&'a String>> {
    if items.len() < 2 {
        return vec![items.to_vec()];
    }
    let beginning = |first: usize| {
        let mut rest = items.to_vec();
        let first = rest.remove(first);
        orders(&rest).into_iter().map(move |mut order| {
            order.push(first);
            order
        })
    };
    (0..items.len()).flat_map(beginning).collect()
}

/// Returns true if both sides are one set of numbers, as `R` and `\mathbb{R}`.
fn same_number_set(a: &Expression, b: &Expression) -> bool {
    let (Expression::Symbol(a), Expression::Symbol(b)) = (a, b) else { return false };
    let plain = |name: &str| name.trim_start_matches("\\mathbb ").to_owned();
    let marked = a.starts_with("\\mathbb ") || b.starts_with("\\mathbb ");
    marked && plain(a) == plain(b) && matches!(plain(a).as_str(), "R" | "Z" | "N" | "Q" | "C")
}

pub(crate) fn holds_infinity(expression: &Expression) -> bool {
    match expression {
        // The end of a range is no value to calculate with.
        Expression::Function(name, _) if lists("int lim sum prod", name) => false,
        other => other.is_symbol("\\infty") || other.any_part(&mut |part| holds_infinity(part)),
    }
}

/// Compares infinite values; `None` if no side holds `∞`, an error if anything but its sign is calculated from it.
fn infinities(a: &Expression, b: &Expression) -> Option<Result<bool>> {
    if !holds_infinity(a) && !holds_infinity(b) {
        return None;
    }
    let sign = |expression: &Expression| match expression {
        Expression::Symbol(_) => Ok(1),
        Expression::Negative(inner) if matches!(**inner, Expression::Symbol(_)) => Ok(-1),
        _ => Err(ParseError::Undefined { what: "arithmetic with infinity".to_owned() }),
    };
    Some(match (holds_infinity(a), holds_infinity(b)) {
        (true, true) => sign(a).and_then(|a| sign(b).map(|b| a == b)),
        (true, false) => sign(a).map(|_| false),
        _ => sign(b).map(|_| false),
    })
}
