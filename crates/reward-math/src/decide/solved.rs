//! Equations that leave to the reader what the ground truth has solved: `2x + 1 = 7` for `x = 3`.

use super::difference::is_equation;
use crate::answer::Node;
use crate::expression::Expression;
use crate::relation;

/// Returns true if an equation of the response is still to be solved, and the ground truth is a solution.
pub(super) fn leaves_unsolved(response: &Node, gold: &Node) -> bool {
    let solution = |node: &Node| {
        matches!(sides(node), Some([label, value])
        if label.symbol().is_some() && !value.has_variable())
    };
    let items = match gold {
        Node::Joined(_, items) | Node::List { items, .. } => items,
        one => std::slice::from_ref(one),
    };
    items.iter().all(solution) && response.items().iter().any(is_unsolved)
}

fn sides(node: &Node) -> Option<&[Node]> {
    match node {
        Node::Chain { sides, .. } if is_equation(node) => Some(sides),
        _ => None,
    }
}

/// Returns true for `2x = 6`, and not for `x = 3`, the line `x - 3 = 0` and the curve `2y = x`.
fn is_unsolved(node: &Node) -> bool {
    let Some([left, right]) = sides(node) else { return false };
    let zero = |side: &Node| side.plain().and_then(Expression::as_integer) == Some(0);
    let line = |side: &Node, other: &Node| {
        zero(other)
            && matches!(side.plain(), Some(Expression::Sum(terms)) if terms.len() == 2
            && terms.iter().any(|term| term.as_symbol().is_some()))
    };
    node.names().len() == 1
        && ![left, right].into_iter().any(relation::is_label)
        && !line(left, right)
        && !line(right, left)
}
