//! Triangles by their corners: `\triangle ABC \sim \triangle DEF` is `\triangle BCA \sim \triangle EFD`.

use super::difference::chain;
use crate::answer::{Node, Relation};
use crate::expression::Expression;

/// A corner of one triangle with the corner of the other that it corresponds to.
type Pair = (String, String);

/// Returns true for names of one triangle: `\triangle ABC` and `\triangle BCA`.
pub(super) fn same_triangle(a: &Expression, b: &Expression) -> bool {
    let sorted = |side: &Expression| {
        let mut corners = corners(side.as_symbol()?)?;
        corners.sort_unstable();
        Some(corners)
    };
    sorted(a).is_some_and(|first| sorted(b) == Some(first))
}

/// Returns the pairs of corners of two statements that triangles are similar or congruent, in alphabetical order.
pub(super) fn correspondences(left: &Node, right: &Node) -> Option<[Vec<Pair>; 2]> {
    let ((a, relations), (b, other_relations)) = (chain(left)?, chain(right)?);
    let corresponds = matches!(relations, [Relation::Similar | Relation::Congruent]);
    let pairs = |sides: &[Node]| {
        let [first, second] = sides else { return None };
        let (first, second) = (corners(first.symbol()?)?, corners(second.symbol()?)?);
        let mut pairs: Vec<Pair> = first.into_iter().zip(second).collect();
        pairs.sort_unstable();
        Some(pairs)
    };
    let (first, second) = (pairs(a)?, pairs(b)?);
    let turned = second.iter().map(|(one, other)| (other.clone(), one.clone()));
    let mut turned: Vec<Pair> = turned.collect();
    turned.sort_unstable();
    let second = if turned == first { turned } else { second };
    (corresponds && relations == other_relations).then_some([first, second])
}

/// Returns the corners of `\triangle AB_1C`, a letter with its index each.
fn corners(name: &str) -> Option<Vec<String>> {
    let mut corners: Vec<String> = Vec::new();
    for letter in name.strip_prefix("\\triangle ")?.chars() {
        match corners.last_mut() {
            Some(corner) if !letter.is_alphabetic() => corner.push(letter),
            _ => corners.push(letter.into()),
        }
    }
    (corners.len() == 3).then_some(corners)
}
