//! Comparison of numbers and expressions: exact values, normal forms, enclosures.

use std::borrow::Cow;

use dashu::Rational;

use super::constants::with_same_constants;
use super::difference::Difference;
use super::group::isomorphic;
use super::triangle::same_triangle;
use super::units::{beside, counts_percents, in_letters};
use super::{Comparison, Finding, Result};
use crate::answer::Node;
use crate::calculus::calculated;
use crate::expression::Expression;
use crate::numeric;
use crate::parser::begins_with;
use crate::relation::{self, Assertion};
use crate::table::lists;
use crate::verdict::{ParseError, Rung};

impl Comparison {
    pub(super) fn values(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        let (
            Node::Value { expression: a, unit: a_unit },
            Node::Value { expression: b, unit: b_unit },
        ) = (left, right)
        else {
            return Ok((false, Rung::Kind));
        };
        let (a_unit, b_unit) = (a_unit.as_deref(), b_unit.as_deref());
        // Two literals, without copies: lists hold thousands of them.
        if let (Expression::Number(a), Expression::Number(b)) = (a, b)
            && a_unit.is_none()
            && b_unit.is_none()
        {
            return self.numbers(a, b);
        }
        if let Some(found) = self.residues(a, b)? {
            return Ok(found);
        }
        if named_alike(a, b) || self.same_arguments(a, b)? {
            return Ok((true, Rung::NormalForm));
        }
        // "5 m" against a side that spells the unit out.
        if let Some(value) = in_letters(a, a_unit, b_unit) {
            return self.expressions(&value, b);
        }
        if let Some(value) = in_letters(b, b_unit, a_unit) {
            return self.expressions(a, &value);
        }
        if let Some(found) = self.in_other_units((a, a_unit), (b, b_unit))? {
            return Ok(found);
        }
        let (a_size, b_size) = (size(a)?, size(b)?);
        if a_size != "finite" || b_size != "finite" {
            let finding = (a_size == b_size, Rung::NormalForm);
            return if finding.0 { Ok(finding) } else { self.shapes(finding.1, a_size, b_size) };
        }
        let (first, second) = (beside(a, a_unit, b, b_unit), beside(b, b_unit, a, a_unit));
        if counts_percents(a_unit, b, b_unit) || counts_percents(b_unit, a, a_unit) {
            return self.expressions(a, b);
        }
        let finding = self.expressions(&first, &second);
        if let Ok((true, _)) = finding {
            return finding;
        }
        if let Some((first, second)) = in_imaginary_unit(&first, &second) {
            return self.expressions(&first, &second);
        }
        if (a_unit == Some("percent")) != (b_unit == Some("percent")) {
            // "50%" as 50, not as a fraction; 0.05% is no 0.05.
            let count = |value| value >= Rational::ONE;
            let literals = [a, b].into_iter().all(|side| side.literal().is_some_and(count));
            return if literals { self.expressions(a, b) } else { finding };
        }
        for renamed in with_same_constants(&first, &second) {
            if let found @ (true, _) = self.expressions(&renamed, &second)? {
                return Ok(found);
            }
        }
        if self.same_solutions(&first, &second)? {
            return Ok((true, Rung::Enclosure));
        }
        finding
    }

    /// Compares residues with a modulus on both sides or on one only; `None` if there is none.
    fn residues(&mut self, left: &Expression, right: &Expression) -> Result<Option<Finding>> {
        match (left.arguments_of("pmod"), right.arguments_of("pmod")) {
            (Some([value, _]), None) => self.expressions(value, right).map(Some),
            (None, Some([value, _])) => self.expressions(left, value).map(Some),
            (Some([a, modulus]), Some([b, other])) => {
                let moduli = self.expressions(modulus, other)?;
                if !moduli.0 {
                    return Ok(Some(moduli));
                }
                self.expressions(a, b).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Returns true for `\Theta(4^n)` and `\Theta(2^{2n})`, `N(0, 4)` and `N(0, 2^2)`.
    fn same_arguments(&mut self, a: &Expression, b: &Expression) -> Result<bool> {
        match (a, b) {
            (Expression::Function(name, parts), Expression::Function(other, others)) => {
                let alike = name == other && parts.len() == others.len();
                Ok(alike && relation::is_plain_function(name) && self.all_equal(parts, others)?)
            }
            _ => Ok(false),
        }
    }

    /// Compares two expressions without units: by normal forms, then by enclosures if these do not decide.
    pub(super) fn expressions(&mut self, a: &Expression, b: &Expression) -> Result<Finding> {
        self.algebra.spend(4)?;
        if [(a, b), (b, a)].into_iter().any(|(series, terms)| begins_with(series, terms)) {
            return Ok((true, Rung::NormalForm));
        }
        if (inverts_product(a) || inverts_product(b))
            && let (Some(first), Some(second)) = (factors_in_order(a), factors_in_order(b))
        {
            if first == second {
                return Ok((true, Rung::NormalForm));
            }
            let order = |factors: &[Factor<'_>]| format!("{factors:?}");
            return self.shapes(Rung::NormalForm, order(&first), order(&second));
        }
        if let Some([a, b]) = of_complex(a, b).or_else(|| both_from_one(a, b)) {
            return self.expressions(&a, &b);
        }
        let rational = a.is_rational_function() && b.is_rational_function();
        let numbers = rational && !a.has_variable() && !b.has_variable();
        let dotted = || [a, b].iter().any(|side| side.holds("\\ldots"));
        if !numbers && numeric::certainly_differ(a, b) && !dotted() {
            let rung = if rational { Rung::NormalForm } else { Rung::Enclosure };
            return self.differ(rung, Difference::Expressions(a.clone(), b.clone()));
        }
        let finding = self.normal_forms(a, b);
        // What the dots stand for is not said.
        if matches!(finding, Ok((false, _))) && dotted() {
            self.undecided = true;
            return finding;
        }
        let decided = match &finding {
            Ok((equal, how)) => *equal || *how == Rung::Number || rational,
            // What is too long to be calculated equals itself.
            Err(ParseError::OutOfFuel) if a == b && !self.with_itself => {
                return Ok((true, Rung::NormalForm));
            }
            Err(_) => false,
        };
        if decided {
            return finding;
        }
        // `\lim_{x \to 0} \frac{\sin x}{x}`, `\frac{d}{dx} x^2`
        let values = [a, b].map(|side| calculated(side, &mut self.enclosure_fuel));
        if values.iter().any(Option::is_some) {
            let [first, second] = values;
            return self.expressions(first.as_ref().unwrap_or(a), second.as_ref().unwrap_or(b));
        }
        match numeric::compare(a, b, &mut self.enclosure_fuel) {
            numeric::Enclosures::Equal => Ok((true, Rung::Enclosure)),
            numeric::Enclosures::Different(apart) => {
                self.differ(Rung::Enclosure, Difference::Apart(apart))
            }
            numeric::Enclosures::Unknown => {
                self.undecided |= finding.is_ok();
                finding
            }
        }
    }

    /// Returns true if an exact value rounds to a decimal of so many places; to one of ten or more up to a unit of the last.
    pub(super) fn rounds_to(&mut self, response: &[Node], gold: &[Node], places: u32) -> bool {
        let unit = super::last_place(places);
        let tolerance = if places < 10 { super::half(&unit) } else { unit };
        let ([response], [gold]) = (response, gold) else { return false };
        let named = |node| match relation::asserted(node) {
            Some(Assertion { label, value, .. }) => (label, value),
            None => (None, node),
        };
        let ((label, exact), (other, decimal)) = (named(response), named(gold));
        let of_another =
            label.zip(other).is_some_and(|(label, other)| !relation::same_label(label, other));
        let Some((expression, number)) = exact.expression().zip(decimal.expression()) else {
            return false;
        };
        let one_unit = exact.unit() == decimal.unit() || exact.unit().is_none();
        !of_another
            && one_unit
            && number.literal().is_some_and(|number| {
                numeric::is_within(expression, &number, &tolerance, &mut self.enclosure_fuel)
            })
    }

    fn normal_forms(&mut self, a: &Expression, b: &Expression) -> Result<Finding> {
        let (first, second) = (self.algebra.normalise(a)?, self.algebra.normalise(b)?);
        if let (Some(a), Some(b)) = (first.as_constant(), second.as_constant()) {
            return self.numbers(&a, &b);
        }
        if self.algebra.equal(&first, &second)? {
            return Ok((true, Rung::NormalForm));
        }
        self.differ(Rung::NormalForm, Difference::Expressions(a.clone(), b.clone()))
    }

    fn numbers(&mut self, a: &Rational, b: &Rational) -> Result<Finding> {
        if a == b {
            return Ok((true, Rung::Number));
        }
        let [a, b] = [a, b].map(|number| Expression::Number(number.clone()));
        self.differ(Rung::Number, Difference::Expressions(a, b))
    }

    pub(super) fn ratios(&mut self, left: &[Expression], right: &[Expression]) -> Result<Finding> {
        if left.len() != right.len() {
            return self.shapes(Rung::Structure, left.len().to_string(), right.len().to_string());
        }
        // `1:00` is a time of day: no multiple of it is equal.
        if is_time(left) && is_time(right) && left != right {
            return self.shapes(Rung::Number, format!("{left:?}"), format!("{right:?}"));
        }
        let (first, other_first) = (&left[0], &right[0]);
        for (a, b) in left.iter().zip(right).skip(1) {
            let products = (a.clone() * other_first.clone(), first.clone() * b.clone());
            let crossed = self.expressions(&products.0, &products.1)?;
            if !crossed.0 {
                return Ok(crossed);
            }
        }
        for first in [first, other_first] {
            if left != right && self.expressions(first, &Expression::integer(0))?.0 {
                return self.shapes(Rung::NormalForm, "nothing", "something");
            }
        }
        Ok((true, Rung::NormalForm))
    }
}

/// Returns true for one set, group or triangle under two names.
fn named_alike(a: &Expression, b: &Expression) -> bool {
    same_number_set(a, b) || isomorphic(a, b) || same_triangle(a, b)
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

/// Returns sums and products with indices of one name that begin at 1: `\sum_{i=2}^{n} \frac{1}{i - 1}` as
/// `\sum_{\#1=1}^{n-1} \frac{1}{\#1}`.
fn from_one(expression: &Expression) -> Cow<'_, Expression> {
    // An inner sum has an index of its own.
    fn nested(node: &Expression) -> usize {
        node.parts().map(nested).max().unwrap_or_default() + usize::from(node.is_call("sum prod"))
    }
    let changed = |node: &Expression| {
        let Expression::Function(name, parts) = node else { return None };
        let [Expression::Symbol(index), low, high, body] = parts.as_slice() else { return None };
        let before =
            low.literal().filter(|low| low.is_int() && lists("sum prod", name))? - Rational::ONE;
        let new = Expression::Symbol(format!("\\#{}", nested(node)));
        if before.is_zero() && new.is_symbol(index) {
            return None;
        }
        let moved = Expression::sum(vec![new.clone(), Expression::Number(before.clone())]);
        let body = body.with(index, &moved);
        let endless = high.is_symbol("\\infty") || before.is_zero();
        let last = high.clone() + Expression::Number(-before);
        let high = if endless { high.clone() } else { last };
        Some(Expression::function(name, [new, Expression::integer(1), high, body]))
    };
    if !expression.any(&|node| changed(node).is_some()) {
        return Cow::Borrowed(expression);
    }
    Cow::Owned(expression.replaced(&changed))
}

/// A capital letter, and whether it is inverted.
type Factor<'a> = (&'a str, bool);

/// Returns true for `(AB)^{-1}`, as matrices are written.
fn inverts_product(expression: &Expression) -> bool {
    let inverse = |expression: &Expression| matches!(expression, Expression::Power(_, exponent) if exponent.literal() == Some(Rational::NEG_ONE));
    match expression {
        Expression::Power(base, _) => {
            matches!(**base, Expression::Product(_)) && inverse(expression)
        }
        // `A^{-1}B^{-1}`
        Expression::Product(factors) => factors.iter().filter(|factor| inverse(factor)).count() > 1,
        _ => false,
    }
}

/// Returns the factors of a product of matrices in their order: `B^{-1}A^{-1}` of `(AB)^{-1}`.
fn factors_in_order(expression: &Expression) -> Option<Vec<Factor<'_>>> {
    match expression {
        Expression::Symbol(name) if name.len() == 1 && name.starts_with(char::is_uppercase) => {
            Some(vec![(name, false)])
        }
        Expression::Power(base, exponent) if exponent.literal() == Some(Rational::NEG_ONE) => {
            let inner = factors_in_order(base)?.into_iter().rev();
            Some(inner.map(|(name, inverted)| (name, !inverted)).collect())
        }
        Expression::Product(factors) => {
            let factors: Option<Vec<_>> = factors.iter().map(factors_in_order).collect();
            Some(factors?.concat())
        }
        _ => None,
    }
}

/// Returns two sums or products with the index of each from 1 on; `None` if they are so already.
fn both_from_one(a: &Expression, b: &Expression) -> Option<[Expression; 2]> {
    if !a.calls("sum prod") || !b.calls("sum prod") {
        return None;
    }
    let (a, b) = (from_one(a), from_one(b));
    let changed = matches!(a, Cow::Owned(_)) || matches!(b, Cow::Owned(_));
    changed.then(|| [a.into_owned(), b.into_owned()])
}

/// Returns both sides with `z` written as a complex number, if a side holds `|z|` or `\bar z` and no other name.
fn of_complex(a: &Expression, b: &Expression) -> Option<[Expression; 2]> {
    const CONJUGATE: &str = "\\bar z";
    let modulus = |side: &Expression| {
        let of_z = |node: &Expression| {
            ["abs", "Re", "Im"].iter().any(
                |name| matches!(node.arguments_of(name), Some([inner]) if inner.is_symbol("z")),
            )
        };
        side.any(&of_z) || side.holds(CONJUGATE)
    };
    let rooted = |side: &Expression| side.any(&|node| matches!(node, Expression::Root(..)));
    let known =
        |side: &Expression| side.variables().iter().all(|name| name == "z" || name == CONJUGATE);
    let sides = [a, b];
    // `\sqrt{z^2} = |z|` is one of real numbers.
    if !sides.iter().any(|side| modulus(side))
        || !sides.iter().all(|side| known(side) && !rooted(side))
    {
        return None;
    }
    let [real, imaginary] = ["z_1", "z_2"].map(Expression::symbol);
    let imaginary = Expression::symbol("i") * imaginary;
    let in_parts = |name: &str| match name {
        "z" => Some(real.clone() + imaginary.clone()),
        CONJUGATE => Some(real.clone() - imaginary.clone()),
        _ => None,
    };
    Some(sides.map(|side| side.substituted(&in_parts)))
}

/// Returns `4 + 3j` with `i` as the other side has it, which is a number.
fn in_imaginary_unit(a: &Expression, b: &Expression) -> Option<(Expression, Expression)> {
    let in_engineering = |side: &Expression| side.variables().iter().eq(["j"]) && !side.holds("i");
    let is_complex = |side: &Expression| !side.has_variable() && side.holds("i");
    let renamed = |side: &Expression| side.renamed("j", "i");
    match (in_engineering(a) && is_complex(b), in_engineering(b) && is_complex(a)) {
        (true, _) => Some((renamed(a), b.clone())),
        (_, true) => Some((a.clone(), renamed(b))),
        _ => None,
    }
}

/// Returns true if both sides are one set of numbers, as `R` and `\mathbb{R}`.
fn same_number_set(a: &Expression, b: &Expression) -> bool {
    let (Expression::Symbol(a), Expression::Symbol(b)) = (a, b) else { return false };
    let plain = |name: &str| name.trim_start_matches("\\mathbb ").to_owned();
    let marked = a.starts_with("\\mathbb ") || b.starts_with("\\mathbb ");
    marked && plain(a) == plain(b) && matches!(plain(a).as_str(), "R" | "Z" | "N" | "Q" | "C")
}

pub(crate) fn holds_infinity(expression: &Expression) -> bool {
    // The end of a range is no value to calculate with.
    !expression.is_call("int lim sum prod")
        && (expression.is_symbol("\\infty") || expression.parts().any(holds_infinity))
}

/// Returns whether a value is finite or infinite, and the sign of an infinite one.
///
/// It is an error if anything but its sign is calculated from an infinite one.
fn size(value: &Expression) -> Result<&'static str> {
    match value {
        Expression::Symbol(name) if name == "\\infty" => Ok("infinite"),
        Expression::Negative(inner) if inner.is_symbol("\\infty") => Ok("infinite and negative"),
        other if holds_infinity(other) => {
            Err(ParseError::Undefined { what: "arithmetic with infinity".to_owned() })
        }
        _ => Ok("finite"),
    }
}
