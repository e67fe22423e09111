//! `±`: two answers in one.

use super::{Node, Relation};
use crate::expression::Expression;

/// A list, or its only item; `±` makes two items of one.
pub(super) fn list(open: char, close: char, items: Vec<Node>) -> Node {
    let mut items = expand(items);
    if items.len() == 1 {
        return items.remove(0);
    }
    Node::List { open, close, items }
}

pub(super) fn expand(items: Vec<Node>) -> Vec<Node> {
    let mut expanded = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Node::Value { expression, unit, percent, .. } if has_either(&expression) => {
                for plus in [true, false] {
                    let (expression, unit) = (expression.clone(), unit.clone());
                    expanded.push(Node::Value { expression, unit, percent, plus });
                }
            }
            Node::Chain { sides, relations }
                if (relations == [Relation::Equal] || relations == [Relation::NotEqual])
                    && sides.iter().any(
                        |side| matches!(side, Node::Value { expression, .. } if has_either(expression)),
                    ) =>
            {
                for plus in [true, false] {
                    let mut sides = sides.clone();
                    for side in &mut sides {
                        if let Node::Value { expression, plus: sign, .. } = side {
                            *expression = with_sign(expression, plus);
                            *sign = plus;
                        }
                    }
                    expanded.push(Node::Chain { sides, relations: relations.clone() });
                }
            }
            // `(\pm 1, \pm 2)`: four points.
            Node::List { open: open @ '(', close: close @ ')', items } if may_be_points(&items) => {
                let points = all_signs(&items).into_iter();
                expanded.extend(points.map(|items| Node::List { open, close, items }));
            }
            other => expanded.push(other),
        }
    }
    expanded
}

/// Whether some coordinates, but not too many, take either sign, each for itself.
fn may_be_points(items: &[Node]) -> bool {
    let either =
        |item: &&Node| matches!(item, Node::Value { expression, .. } if has_either(expression));
    let linked = |item: &Node| {
        matches!(item, Node::Value { expression, .. }
            if expression.any(&|node| matches!(node, Expression::PlusMinus(_, true))))
    };
    (1..=4).contains(&items.iter().filter(either).count()) && !items.iter().any(linked)
}

/// The coordinates with every choice of their signs.
fn all_signs(items: &[Node]) -> Vec<Vec<Node>> {
    let Some((first, rest)) = items.split_first() else { return vec![Vec::new()] };
    let first = match first {
        Node::Value { expression, unit, percent, .. } if has_either(expression) => {
            let signed = |plus| Node::Value {
                expression: expression.clone(),
                unit: unit.clone(),
                percent: *percent,
                plus,
            };
            vec![signed(true), signed(false)]
        }
        other => vec![other.clone()],
    };
    let tails = all_signs(rest);
    let with = |tail: &Vec<Node>| {
        first
            .iter()
            .map(|head| {
                let mut point = vec![head.clone()];
                point.extend_from_slice(tail);
                point
            })
            .collect::<Vec<_>>()
    };
    tails.iter().flat_map(with).collect()
}

/// The expression with one of its two signs, where `±` stands before all of it or before one of its terms.
fn with_sign(expression: &Expression, plus: bool) -> Expression {
    match expression {
        Expression::PlusMinus(inner, flipped) if plus == *flipped => {
            Expression::Negative(inner.clone())
        }
        Expression::PlusMinus(inner, _) => (**inner).clone(),
        Expression::Sum(terms) => {
            Expression::Sum(terms.iter().map(|term| with_sign(term, plus)).collect())
        }
        other => other.clone(),
    }
}

fn has_either(expression: &Expression) -> bool {
    expression.any(&|node| matches!(node, Expression::PlusMinus(..)))
}
