//! Answers that are not finished: `2x + 1 = 7` for `x = 3`, and the last of several values.

use super::difference::is_equation;
use crate::answer::{Answer, Node};
use crate::expression::Expression;
use crate::relation;
use crate::table::{pattern, without};

/// Returns true if the end of an answer is one of several alternatives: `x = 2 \text{ or } x = 3`, `x_1 = 2, x_2 = 3`.
pub(super) fn is_one_of_several(
    whole: &Answer,
    end: &Answer,
    gold: &Answer,
    is_equal: impl Fn(&Answer, &Answer) -> bool,
) -> bool {
    let separators = pattern!(
        r"\\(?:quad|qquad|checkmark|[A-Za-z]*arrow|implies|iff|therefore|lor|vee)(?-u:\b)|\\{1,2}text\s*\{[^{}]*\}|\\\\|[,;]|\b(?:or|and)\b|[或和✓✅]"
    );
    let plain = |answer: &Answer| without(&answer.spelling, &["\\,", "\\;", "&"]);
    // A space that was `\ ` leaves its backslash.
    let text = plain(whole);
    let places: Vec<_> = separators.find_iter(&text).collect();
    let ends = places.iter().map(regex::Match::start).chain([text.len()]);
    let starts = [0].into_iter().chain(places.iter().map(regex::Match::end));
    let statements = starts.zip(ends).filter(|(start, end)| {
        let text = text[*start..*end].trim_matches([' ', '$', '.']);
        !text.is_empty() && !text.starts_with("\\end") && !text.starts_with('}')
    });
    let statements: Vec<(usize, usize)> = statements.collect();
    let [.., before, last] = statements[..] else { return false };
    let between = &text[before.1..last.0];
    let before = text[before.0..before.1].trim_matches([' ', '$']);
    let rejected = pattern!(r"‹rejects a value›").is_match(&text[last.0..]);
    if rejected || plain(end).contains(before.trim_start_matches('\\')) {
        return false;
    }
    if pattern!(r"\b(?:or|oder|ou)\b|或|\\lor|\\vee").is_match(between) {
        return true;
    }
    let listed = pattern!(
        r"^(?:\\q?quad|\\checkmark|[,;✓✅$\s]|\\{1,2}text\{[ ,]*(?:and|y|et|und)[ ]*\}|and|和)*$"
    );
    let parts = |text| {
        let named = pattern!(
            r"(?:^|[\s{}])([a-zA-Z]\([a-z]\)|[xyztrkmn]|\\lambda)(?:_\{?[0-9]\}?)?=([^=]+)$"
        );
        let parts = named.captures(text)?;
        Some((parts[1].to_owned(), Answer::parse(&parts[2]).ok()?))
    };
    let last = text[last.0..last.1].split("\\end").next().and_then(parts);
    let others = parts(before).zip(last).is_some_and(|((name, value), (other, end))| {
        let closed = |answer: &Answer| {
            let readings = answer.readings.as_ref();
            !answer.is_words() && readings.is_ok_and(|all| !all[0].has_variable())
        };
        name == other
            && (name.contains('(') || closed(&value) && closed(&end))
            && !is_equal(&value, &end)
    });
    listed.is_match(between) && !gold.spelling.contains('_') && others
}

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

/// Returns true for the interval `(1, 3]` beside `(1, 3)`, and for `k \in (1, 3)` beside `1, 3`.
pub(super) fn is_interval_and_point(interval: &Node, other: &Node) -> bool {
    if let Some((member, Node::List { open: '(' | '[', items, .. })) = interval.membership() {
        let values = matches!(other, Node::List { open: ' ', .. });
        return values && member.symbol().is_some() && items.len() == 2;
    }
    is_half_open(interval) && is_point(other)
}

fn is_half_open(node: &Node) -> bool {
    matches!(
        node,
        Node::List { open: '(', close: ']', .. } | Node::List { open: '[', close: ')', .. }
    )
}

/// Returns true for `(1, 3)`, a column, `A(1, 3)` and `x = 1, y = 3`.
fn is_point(node: &Node) -> bool {
    match node {
        Node::Matrix(_) | Node::Value { .. } => true,
        Node::List { open: ' ', items, .. } => items.iter().all(is_equation),
        Node::List { .. } => !is_half_open(node),
        Node::Chain { sides, .. } => is_equation(node) && sides.last().is_some_and(is_point),
        _ => false,
    }
}

/// Returns true for `3 \times 4` beside `4 \times 3`: matrices of another shape.
pub(super) fn exchanges_sizes(response: &Answer, gold: &Answer) -> bool {
    let size = pattern!(r"^([0-9]+)\\times ?([0-9]+)$");
    let [sizes, others] = [response, gold].map(|answer| size.captures(&answer.spelling));
    sizes.zip(others).is_some_and(|(a, b)| a[1] == b[2] && a[2] == b[1] && a[1] != a[2])
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
