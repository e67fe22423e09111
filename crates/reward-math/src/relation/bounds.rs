//! Bounds that a chain of inequalities calculates.

use super::{is_constant_value, is_label, symbol};
use crate::answer::{Node, Relation};
use crate::expression::Expression;

/// Returns the value of the bound of `a^2 + b^2 = (a + b)^2 - 2ab \ge 25 - 12 = 13`, which is calculated on both sides.
pub(crate) fn bound(chain: &Node) -> Option<&Node> {
    let Node::Chain { sides, relations } = chain else { return None };
    let bounds =
        |relation: &Relation| matches!(relation, Relation::LessEqual | Relation::GreaterEqual);
    let [first, .., last] = relations.as_slice() else { return None };
    let one = relations.iter().filter(|relation| bounds(relation)).count() == 1;
    let equal = relations.iter().all(|relation| bounds(relation) || *relation == Relation::Equal);
    let calculated = (*first, *last) == (Relation::Equal, Relation::Equal) && one && equal;
    let calculated = calculated && symbol(&sides[0]).is_none();
    // `x + \frac1x \ge 2\sqrt1 = 2`, `f = xy(x + y) \le \frac14 \cdot 1 = \frac14`: of an expression.
    let relation = relations.iter().find(|relation| bounds(relation))?;
    let of_one_kind = relations.iter().all(|other| *other == Relation::Equal || other == relation);
    let quantity =
        if is_label(&sides[0]) && *first == Relation::Equal { &sides[1] } else { &sides[0] };
    let compound = match quantity.plain() {
        Some(Expression::Power(base, _)) => base.as_symbol().is_none(),
        Some(quantity) => quantity.has_variable(),
        None => false,
    };
    let of_expression = of_one_kind
        && relations.contains(&Relation::Equal)
        && compound
        && !is_label(quantity)
        && quantity.names().len()
            > usize::from(matches!(quantity.plain(), Some(Expression::Product(_))));
    sides.last().filter(|value| (calculated || of_expression) && is_constant_value(value))
}
