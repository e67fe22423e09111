//! Solutions of equations and inequalities in one variable: linear, quadratic, and of an absolute value.

use dashu::Rational;
use dashu::base::{Abs, Signed};

use super::region::{Combination, Region};
use super::values::holds_infinity;
use super::{Comparison, Result};
use crate::answer::{Node, Relation};
use crate::expression::{Expression, is_constant};

impl Comparison {
    /// The numbers for which `left RELATION right` holds, where that is known how to find.
    pub(super) fn solve_inequality(
        &mut self,
        left: &Node,
        relation: Relation,
        right: &Node,
    ) -> Result<Option<Region>> {
        if matches!(relation, Relation::In | Relation::Approximately) {
            return Ok(None);
        }
        let (Some(a), Some(b)) = (left.plain(), right.plain()) else { return Ok(None) };
        // A variable beside a constant of any kind, `x < \\sqrt 2`.
        for (name, value, relation) in [(a, b, relation), (b, a, relation.flipped())] {
            if let Expression::Symbol(name) = name
                && !is_constant(name)
                && !value.has_variable()
            {
                return Ok(bounded(name, relation, value));
            }
        }
        for (absolute, value, relation) in [(a, b, relation), (b, a, relation.flipped())] {
            if let Some([inner]) = absolute.arguments_of("abs")
                && !value.has_variable()
            {
                return self.solve_absolute(inner, relation, value);
            }
        }
        self.solve_polynomial(a, relation, b)
    }

    /// `|f| < c` is `f < c` and `f > -c`; `|f| > c` is `f > c` or `f < -c`.
    fn solve_absolute(
        &mut self,
        inner: &Expression,
        relation: Relation,
        value: &Expression,
    ) -> Result<Option<Region>> {
        let negative = Expression::Negative(Box::new(value.clone()));
        let combination = match relation {
            Relation::Less | Relation::LessEqual | Relation::NotEqual => Combination::Intersection,
            _ => Combination::Union,
        };
        let (above, below) = match inner {
            // A variable beside a constant of any kind, which has to be known as not negative.
            Expression::Symbol(name) if !is_constant(name) && self.is_positive(value) => {
                (bounded(name, relation, value), bounded(name, relation.flipped(), &negative))
            }
            _ => (
                self.solve_polynomial(inner, relation, value)?,
                self.solve_polynomial(inner, relation.flipped(), &negative)?,
            ),
        };
        match (above, below) {
            (Some(above), Some(below)) => self.combine(&above, &below, combination),
            _ => Ok(None),
        }
    }

    fn solve_polynomial(
        &mut self,
        left: &Expression,
        relation: Relation,
        right: &Expression,
    ) -> Result<Option<Region>> {
        let (first, second) = (self.algebra.normalise(left)?, self.algebra.normalise(right)?);
        let difference = self.algebra.subtract(&first, &second)?;
        let Some((name, [c, b, a])) = self.algebra.quadratic(&difference) else { return Ok(None) };
        if a.is_zero() {
            if b.is_zero() {
                return Ok(None);
            }
            let relation = if b.is_negative() { relation.flipped() } else { relation };
            return Ok(bounded(&name, relation, &Expression::Number(-c / b)));
        }
        // Between or outside the roots of a parabola that opens upwards.
        let relation = if a.is_negative() { relation.flipped() } else { relation };
        let four = Rational::from(4);
        let discriminant = &b * &b - &a * &c * four;
        if discriminant.is_negative() {
            let everywhere =
                matches!(relation, Relation::Greater | Relation::GreaterEqual | Relation::NotEqual);
            let region = if everywhere { Region::line() } else { Region::empty() };
            return Ok(Some(region.of(&name)));
        }
        let positive = a.clone().abs();
        let b = if a.is_negative() { -b } else { b };
        let root = |sign: i64| {
            let radical = Expression::Root(Box::new(Expression::Number(discriminant.clone())), 2);
            let scaled =
                Expression::Product(vec![Expression::Number(Rational::from(sign)), radical]);
            let sum = Expression::Sum(vec![Expression::Number(-b.clone()), scaled]);
            let two_a = Expression::Number(&positive + &positive);
            Expression::Quotient(Box::new(sum), Box::new(two_a))
        };
        let (low, high) = (root(-1), root(1));
        let part = |relation, value: &Expression| bounded(&name, relation, value);
        let (first, second, combination) = match relation {
            Relation::Less => (Relation::Greater, Relation::Less, Combination::Intersection),
            Relation::LessEqual => {
                (Relation::GreaterEqual, Relation::LessEqual, Combination::Intersection)
            }
            Relation::Greater => (Relation::Less, Relation::Greater, Combination::Union),
            Relation::GreaterEqual => {
                (Relation::LessEqual, Relation::GreaterEqual, Combination::Union)
            }
            Relation::Equal => (Relation::Equal, Relation::Equal, Combination::Union),
            _ => (Relation::NotEqual, Relation::NotEqual, Combination::Intersection),
        };
        match (part(first, &low), part(second, &high)) {
            (Some(low), Some(high)) => self.combine(&low, &high, combination),
            _ => Ok(None),
        }
    }
}

fn bounded(name: &str, relation: Relation, value: &Expression) -> Option<Region> {
    if holds_infinity(value) {
        // "-2 < x < \\infty" bounds nothing on that side.
        return Some(Region::line().of(name));
    }
    Region::related(relation, value).map(|region| region.of(name))
}
