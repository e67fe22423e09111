//! Answers that stand for several: permutations of a tuple in words, and a formula with the values of its index.

use dashu::Rational;

use super::sign::counted;
use super::{Node, Relation, list};
use crate::algebra::constant;
use crate::expression::Expression;
use crate::parser::Parser;
use crate::table::{lists, pattern};
use crate::token::tokenize;

/// Most coordinates of a tuple that is permuted.
const LONGEST_TUPLE: usize = 5;
/// Most tuples before repetitions are left out.
const MOST_TUPLES: usize = 512;
/// Most values of an index.
const MOST_VALUES: usize = 64;
/// Most formulas with the values of one index.
const MOST_HEADS: usize = 16;

/// Returns all tuples of `(1, 2, 3)\text{ and its permutations}`, of "any permutation of (1, 2, 3)" and of cyclic ones.
pub(super) fn permutations(folded: &str) -> Option<Node> {
    if !folded.contains("ermutation") && !folded.contains("order") && !folded.contains("排列") {
        return None;
    }
    let behind = pattern!(
        r"(?x)^(?P<tuples>.*\)) (?:[\s,;{}($]|\\[,;\x20]|\\q?quad|\\text|\\mathrm|and|with|or|up\x20to|plus|all|any|the|its|their|of|other|possible
        |以及|及|和|它们|其|的|所有)* (?P<cyclic>cyclic)?(?:al|\s)* (?:permutations?|排列|in\x20(?:any|some)\x20order)
        (?:\x20thereof|\x20of\x20(?:it|them|these))? [\s.{})]*$"
    );
    let before = pattern!(
        r"(?x)^[^0-9]*? (?:any|all|every|the|each|\s)* (?P<cyclic>cyclic\x20)?permutations?\x20of[^(0-9]* (?P<tuples>\(.*\)) [\s.{}]*$"
    );
    let parts = behind.captures(folded).or_else(|| before.captures(folded))?;
    let (text, cyclic) = (parts.name("tuples")?, parts.name("cyclic").is_some());
    let written = Parser::new(tokenize(text.as_str(), true).ok()?).answer().ok()?;
    let mut permuted: Vec<Node> = Vec::new();
    let mut tuples = 0;
    for item in written.items() {
        for other in permuted_node(item, cyclic)? {
            tuples += 1;
            if !permuted.contains(&other) {
                permuted.push(other);
            }
        }
        if tuples > MOST_TUPLES {
            return None;
        }
    }
    Some(list(' ', ' ', permuted))
}

/// Returns the permutations of a tuple, or of the tuple on the right of an equation.
fn permuted_node(node: &Node, cyclic: bool) -> Option<Vec<Node>> {
    match node {
        Node::List { open: '(', close, items } if items.len() <= LONGEST_TUPLE => {
            let rotated = |places| [&items[places..], &items[..places]].concat();
            let rotations = || (0..items.len()).map(rotated).collect();
            let orders = if cyclic { rotations() } else { orders(items) };
            let tuple = |items| Node::List { open: '(', close: *close, items };
            Some(orders.into_iter().map(tuple).collect())
        }
        Node::Chain { sides, relations } if relations == &[Relation::Equal] => {
            let chain = |value| Node::equation(sides[0].clone(), value);
            Some(permuted_node(sides.last()?, cyclic)?.into_iter().map(chain).collect())
        }
        _ => None,
    }
}

/// Returns the items in each order.
pub(crate) fn orders<T: Clone>(items: &[T]) -> Vec<Vec<T>> {
    if items.len() < 2 {
        return vec![items.to_vec()];
    }
    let beginning = |first: usize| {
        let mut rest = items.to_vec();
        let first = rest.remove(first);
        orders(&rest).into_iter().map(move |mut order| {
            order.insert(0, first.clone());
            order
        })
    };
    (0..items.len()).flat_map(beginning).collect()
}

/// Returns the values of `e^{2\pi i k/3}, k = 0, 1, 2` and of `\{2k : 1 \le k \le 5\}`, written out.
pub(super) fn members(node: &Node) -> Option<Node> {
    let (open, close, heads, ranges) = match node {
        Node::List { open: ' ', close, items } => {
            // In `x = k\pi, k = 0, 1, 2` the index is k.
            let numbers = |at: &usize| {
                let name = index(&items[*at]);
                name.is_some_and(|name| items[..*at].iter().all(|head| head.names().contains(name)))
            };
            let start = (1..items.len().min(MOST_HEADS + 1)).find(numbers)?;
            let (heads, range) = items.split_at(start);
            (' ', *close, heads, range)
        }
        Node::Builder { head, conditions } => {
            ('{', '}', std::slice::from_ref(&**head), conditions.as_slice())
        }
        _ => return None,
    };
    let (name, values) = values(ranges)?;
    let numbered = (1..=MOST_HEADS).contains(&heads.len())
        && heads.iter().all(|head| head.names().contains(name));
    if !numbered || !(2..=MOST_VALUES).contains(&values.len()) {
        return None;
    }
    let written = |value: &Node| {
        let value = value.plain()?;
        let calculated = |head: &Node| {
            unnumbered(head, name).with(name, value).mapped(&mut |value| {
                constant(value).map_or_else(|| value.clone(), Expression::Number)
            })
        };
        Some(heads.iter().map(calculated).collect::<Vec<_>>())
    };
    let items: Vec<Vec<Node>> = values.iter().map(written).collect::<Option<_>>()?;
    Some(Node::List { open, close, items: items.concat() })
}

/// Returns `z = e^{2\pi i k/5}` for `z_k = e^{2\pi i k/5}`, of the index `k`.
fn unnumbered(head: &Node, index: &str) -> Node {
    let Node::Chain { sides, .. } = head else { return head.clone() };
    let label = sides[0].symbol().and_then(|label| Some((label, label.split_once('_')?)));
    match label {
        Some((label, (name, place))) if place.trim_matches(['{', '}']) == index => {
            head.renamed(label, name)
        }
        _ => head.clone(),
    }
}

/// Returns the index and its integers: `k = 0, 1, 2`, `k \in \{0, 1, 2\}`, `0 \le k \le 2`.
fn values(conditions: &[Node]) -> Option<(&str, Vec<Node>)> {
    // `k \in \mathbb{Z}, 1 \le k \le 50`
    let declares = |condition: &Node| {
        let set = condition.membership().and_then(|(_, set)| set.symbol());
        set.is_some_and(|set| set.trim_start_matches("\\mathbb ").starts_with(['Z', 'N']))
    };
    let bounds: Vec<&Node> = conditions.iter().filter(|condition| !declares(condition)).collect();
    let (first, rest) = bounds.split_first()?;
    let name = index(first)?;
    // A real number has no next one.
    let counts = bounds.len() < conditions.len() || !matches!(name, "x" | "t" | "r" | "s");
    let Node::Chain { sides, relations } = first else { return None };
    let values = match (sides.as_slice(), relations.as_slice()) {
        ([_, value], [Relation::Equal]) => {
            counted(std::iter::once(value).chain(rest.iter().copied()).cloned().collect())
        }
        ([_, Node::List { open: '{', items, .. }], [Relation::In]) if rest.is_empty() => {
            items.clone()
        }
        ([low, _, high], [below, above]) if rest.is_empty() && counts => {
            let within = |end: &Node, relation: &Relation, step: i64| {
                let step = if *relation == Relation::Less { step } else { 0 };
                let value = end.plain()?.literal().filter(Rational::is_int)?;
                Some(Node::from(Expression::Number(value + Rational::from(step))))
            };
            let (low, high) = (within(low, below, 1)?, within(high, above, -1)?);
            counted(vec![low, Expression::symbol("\\ldots").into(), high])
        }
        _ => return None,
    };
    let mut literals = values.iter().map(|node| node.plain().and_then(Expression::literal));
    literals.all(|value| value.is_some_and(|value| value.is_int())).then_some((name, values))
}

/// Returns the name of the integer whose values the condition says.
fn index(condition: &Node) -> Option<&str> {
    use Relation::{Equal, In, Less, LessEqual};
    let Node::Chain { sides, relations } = condition else { return None };
    let name = match relations.as_slice() {
        [Equal | In] => sides[0].symbol()?,
        [Less | LessEqual, Less | LessEqual] => sides[1].symbol()?,
        _ => return None,
    };
    lists("j k l m n r s t x", name).then_some(name)
}
