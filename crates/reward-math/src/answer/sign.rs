//! `±`: two answers in one.

use super::node::{Node, Relation};
use crate::expression::Expression;

/// Makes a list, or returns its only item; `±` makes two items of one.
pub(super) fn list(open: char, close: char, items: Vec<Node>) -> Node {
    let mut items = counted(expand(items));
    if items.len() == 1 {
        return items.remove(0);
    }
    Node::List { open, close, items }
}

/// Makes an item for each choice of signs.
pub(super) fn expand(items: Vec<Node>) -> Vec<Node> {
    let mut expanded = Vec::with_capacity(items.len());
    for item in items {
        match item {
            // `(\pm 1, \pm 2)`: four points.
            Node::List { open: open @ ('(' | '['), close, items }
                if items.iter().any(takes_either) =>
            {
                let points = all_signs(&items).into_iter();
                expanded.extend(points.map(|items| Node::List { open, close, items }));
            }
            // `(x, y) = (\pm 1, \pm 2)`
            Node::Chain { sides, relations }
                if relations == [Relation::Equal]
                    && matches!((&sides[0], &sides[1]),
                        (Node::List { items: names, .. }, Node::List { open: '(', items, .. })
                            if names.len() == items.len() && items.iter().any(takes_either)) =>
            {
                let points = expand(vec![sides[1].clone()]).into_iter();
                expanded.extend(points.map(|point| Node::equation(sides[0].clone(), point)));
            }
            // `\pm\sqrt{2 \pm \sqrt 3}`: four values.
            item if takes_either(&item) => {
                let both = [true, false].map(|plus| signed(&item, plus)).to_vec();
                let nested = expanded.len() < MOST_NESTED && both.iter().any(takes_either);
                expanded.extend(if nested { expand(both) } else { both });
            }
            item => expanded.push(item),
        }
    }
    expanded
}

/// Most values after which signs within signs are chosen, too.
const MOST_NESTED: usize = 16;

/// Writes out `1, 2, \ldots, 6`: integers in equal steps, up to a few.
pub(super) fn counted(items: Vec<Node>) -> Vec<Node> {
    written_out(&items).unwrap_or(items)
}

fn written_out(items: &[Node]) -> Option<Vec<Node>> {
    const MOST: i64 = 64;
    let integer = |node: &Node| node.plain()?.as_integer();
    let [before @ .., ellipsis, last] = items else { return None };
    let numbers: Vec<i64> = before.iter().map(integer).collect::<Option<_>>()?;
    let (end, first) = (integer(last)?, numbers.first()?);
    let second = numbers.get(1).copied().or_else(|| first.checked_add(1))?;
    let (step, width) = (second.checked_sub(*first)?, end.checked_sub(*first)?);
    let even = numbers.windows(2).all(|pair| pair[1].checked_sub(pair[0]) == Some(step));
    let count = width.checked_div(step).filter(|count| (0..MOST).contains(count))?;
    let fits = even && count * step == width && ellipsis.symbol() == Some("\\ldots");
    fits.then(|| {
        (0..=count).map(|place| Expression::integer(first + step * place).into()).collect()
    })
}

/// Most coordinates of all points together: more are no sensible answer and cost too much memory.
const MOST_COORDINATES: usize = 4096;

/// Returns true if a value, or one within a tuple, matrix, ratio or equation, contains `±`.
fn takes_either(node: &Node) -> bool {
    match node {
        Node::Value { expression, .. } => has_either(expression),
        // The signs of a set's members are already expanded.
        Node::List { open: '(' | '[', items, .. } => items.iter().any(takes_either),
        Node::Matrix(rows) => rows.iter().flatten().any(has_either),
        Node::Ratio(parts) => parts.iter().any(has_either),
        Node::Chain { sides, relations } => {
            let equal = relations.iter().all(|relation| *relation == Relation::Equal);
            (equal || relations == &[Relation::NotEqual]) && sides.iter().any(takes_either)
        }
        _ => false,
    }
}

/// Returns the node with the same choice for all its signs.
fn signed(node: &Node, plus: bool) -> Node {
    let chosen = |node: &Expression| match node {
        Expression::Function(name, arguments) if node.is_call("pm mp") => {
            let inner = arguments[0].clone();
            Some(if plus == (name == "pm") { inner } else { -inner })
        }
        _ => None,
    };
    node.mapped(&mut |expression| expression.replaced(&chosen))
}

/// Returns the points of all sign combinations, the sign of the first coordinate changing fastest.
///
/// Signs that a `∓` links, that lie within other coordinates, or that are too many change together: two points.
fn all_signs(items: &[Node]) -> Vec<Vec<Node>> {
    let places: Vec<usize> =
        (0..items.len()).filter(|&place| takes_either(&items[place])).collect();
    let alone = |place: &usize| items[*place].expression().is_some_and(|value| !value.calls("mp"));
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

fn has_either(expression: &Expression) -> bool {
    expression.calls("pm mp")
}
