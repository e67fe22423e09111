//! `±`: two answers in one.

use super::node::{Node, Relation};
use crate::expression::Expression;

/// Makes a list, or returns its only item; `±` makes two items of one.
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
            Node::List { open: open @ ('(' | '['), close, items } if items.iter().any(takes_either) => {
                let points = all_signs(&items).into_iter();
                expanded.extend(points.map(|items| Node::List { open, close, items }));
            }
            other if takes_either(&other) => {
                expanded.extend([signed(&other, true), signed(&other, false)]);
            }
            other => expanded.push(other),
        }
    }
    expanded
}

/// Most coordinates of all points together: more are no sensible answer and cost too much memory.
const MOST_COORDINATES: usize = 4096;

/// Returns true if a value, or one within a tuple, matrix or ratio, contains `±`.
fn takes_either(node: &Node) -> bool {
    match node {
        Node::Value { expression, .. } => has_either(expression),
        // The signs of a set's members are already expanded.
        Node::List { open: '(' | '[', items, .. } => items.iter().any(takes_either),
        Node::Matrix(rows) => rows.iter().flatten().any(has_either),
        Node::Ratio(parts) => parts.iter().any(has_either),
        _ => false,
    }
}

/// Returns the node with the same choice for all its signs.
fn signed(node: &Node, plus: bool) -> Node {
    let all = |parts: &Vec<Expression>| parts.iter().map(|part| with_sign(part, plus)).collect();
    match node {
        Node::Value { expression, unit, percent, .. } if has_either(expression) => Node::Value {
            expression: expression.clone(),
            unit: unit.clone(),
            percent: *percent,
            plus,
        },
        Node::List { open: open @ ('(' | '['), close, items } => Node::List {
            open: *open,
            close: *close,
            items: items.iter().map(|item| signed(item, plus)).collect(),
        },
        Node::Matrix(rows) => Node::Matrix(rows.iter().map(all).collect()),
        Node::Ratio(parts) => Node::Ratio(all(parts)),
        other => other.clone(),
    }
}

/// Returns the points of all sign combinations, the sign of the first coordinate changing fastest.
///
/// Signs that a `∓` links, that lie within other coordinates, or that are too many change together: two points.
fn all_signs(items: &[Node]) -> Vec<Vec<Node>> {
    let places: Vec<usize> =
        (0..items.len()).filter(|&place| takes_either(&items[place])).collect();
    let alone = |place: &usize| match &items[*place] {
        Node::Value { expression, .. } => {
            !expression.any(&|node| matches!(node, Expression::PlusMinus(_, true)))
        }
        _ => false,
    };
    if places.len() > 4
        || items.len() << places.len() > MOST_COORDINATES
        || !places.iter().all(alone)
    {
        return [true, false]
            .map(|plus| items.iter().map(|item| signed(item, plus)).collect())
            .to_vec();
    }
    let point = |choice: u32| {
        let mut point = items.to_vec();
        for (bit, &place) in places.iter().enumerate() {
            point[place] = signed(&point[place], choice >> bit & 1 == 0);
        }
        point
    };
    (0..1 << places.len()).map(point).collect()
}

/// Resolves the `±` before all of an expression or before one of its terms.
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
