//! Solutions of equations and inequalities in one variable: linear, quadratic, and of an absolute value.

use dashu::Rational;
use dashu::base::Signed;

use super::Comparison;
use super::region::{Part, Region};
use super::values::holds_infinity;
use crate::answer::{Combination, Node, Relation};
use crate::expression::{Expression, is_constant};

impl Comparison {
    /// Returns the numbers for which `left RELATION right` holds, where that is known how to find.
    pub(super) fn inequality(&mut self, left: &Node, relation: Relation, right: &Node) -> Part {
        let (Some(a), Some(b)) = (left.plain(), right.plain()) else { return Err(None) };
        if matches!(relation, Relation::In | Relation::Approximately) {
            return Err(None);
        }
        for (one, value, relation) in [(a, b, relation), (b, a, relation.flipped())] {
            if value.has_variable() {
                continue;
            }
            // A variable beside a constant of any kind, `x < \sqrt 2`.
            if let Expression::Symbol(name) = one
                && !is_constant(name)
            {
                return bounded(name, relation, value);
            }
            if let Some([inner]) = one.arguments_of("abs") {
                return self.absolute(inner, relation, value);
            }
        }
        self.quadratic(a, relation, b)
    }

    /// `|f| < c` is `f < c` and `f > -c`; `|f| > c` is `f > c` or `f < -c`.
    fn absolute(&mut self, inner: &Expression, relation: Relation, value: &Expression) -> Part {
        let negative = -value.clone();
        let combination = match relation {
            Relation::Less | Relation::LessEqual | Relation::NotEqual => Combination::Intersection,
            _ => Combination::Union,
        };
        let (above, below) = match inner {
            // A variable beside a constant of any kind, which has to be known as not negative.
            Expression::Symbol(name) if !is_constant(name) && self.is_positive(value) => {
                (bounded(name, relation, value)?, bounded(name, relation.flipped(), &negative)?)
            }
            _ => (
                self.quadratic(inner, relation, value)?,
                self.quadratic(inner, relation.flipped(), &negative)?,
            ),
        };
        self.combine(&above, &below, combination)
    }

    fn quadratic(&mut self, left: &Expression, mut relation: Relation, right: &Expression) -> Part {
        let (first, second) = (self.algebra.normalise(left)?, self.algebra.normalise(right)?);
        let difference = self.algebra.subtract(&first, &second)?;
        let (name, [mut c, mut b, mut a]) = self.algebra.quadratic(&difference).ok_or(None)?;
        if a.is_negative() || a.is_zero() && b.is_negative() {
            (relation, a, b, c) = (relation.flipped(), -a, -b, -c);
        }
        if a.is_zero() {
            if b.is_zero() {
                return Err(None);
            }
            return bounded(&name, relation, &Expression::Number(-c / b));
        }
        // Between or outside the roots of a parabola that opens upwards.
        let discriminant = &b * &b - &a * &c * Rational::from(4);
        let outside =
            matches!(relation, Relation::Greater | Relation::GreaterEqual | Relation::NotEqual);
        if discriminant.is_negative() {
            let region = if outside { Region::line() } else { Region::default() };
            return Ok(region.of(&name));
        }
        let root = |sign: i64| {
            let radical = Expression::root(Expression::Number(discriminant.clone()), 2);
            let sum = Expression::Number(-b.clone()) + Expression::integer(sign) * radical;
            sum / Expression::Number(&a + &a)
        };
        let both = matches!(relation, Relation::NotEqual | Relation::Less | Relation::LessEqual);
        let combination = if both { Combination::Intersection } else { Combination::Union };
        let low = bounded(&name, relation.flipped(), &root(-1))?;
        let high = bounded(&name, relation, &root(1))?;
        self.combine(&low, &high, combination)
    }
}

fn bounded(name: &str, relation: Relation, value: &Expression) -> Part {
    if holds_infinity(value) {
        // "-2 < x < \infty" bounds nothing on that side.
        return Ok(Region::line().of(name));
    }
    Region::related(relation, value).map(|region| region.of(name))
}

/// Returns the inequality of `a + b + c \in [3, \infty)`; `None` for a name in a set, which is a region.
pub(super) fn bounds_of_member(node: &Node) -> Option<Node> {
    let (member, set) = node.membership()?;
    member.symbol().is_none().then(|| bounds(member, set))?
}

/// Returns `low < member \le high` for the interval `(low, high]`.
pub(super) fn bounds(member: &Node, interval: &Node) -> Option<Node> {
    let Node::List { open: open @ ('(' | '['), close, items } = interval else { return None };
    let [low, high] = items.as_slice() else { return None };
    let member = member.plain()?;
    let (low, high) = (low.plain()?, high.plain()?);
    let above = if *open == '(' { Relation::Less } else { Relation::LessEqual };
    let below = if *close == ')' { Relation::Less } else { Relation::LessEqual };
    let mut sides = vec![member.clone().into()];
    let mut relations = Vec::new();
    if !holds_infinity(low) {
        sides.insert(0, low.clone().into());
        relations.push(above);
    }
    if !holds_infinity(high) {
        sides.push(high.clone().into());
        relations.push(below);
    }
    (!relations.is_empty()).then_some(Node::Chain { sides, relations })
}
