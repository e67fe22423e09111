//! Recurrences with another first index: `a_{n+1} = 2a_n` and `a_n = 2a_{n-1}`.

use super::difference::is_equation;
use super::{Comparison, Result};
use crate::answer::Node;
use crate::expression::Expression;
use crate::table::pattern;

/// Largest distance between the indices of two recurrences.
const FARTHEST: i64 = 4;

/// A sequence, the name of its index, and the distance from it: `a`, `n` and 1 of `a_{n+1}`.
type Term = (String, String, i64);

impl Comparison {
    /// Returns true if two equations for terms of a sequence are one, up to the place at which the index stands.
    pub(super) fn same_recurrence(&mut self, left: &Node, right: &Node) -> Result<bool> {
        let (Some((index, last)), Some((other, other_last))) = (last_term(left), last_term(right))
        else {
            return Ok(false);
        };
        let distance = other_last - last;
        let near = (1..=FARTHEST).contains(&distance.abs());
        if index != other || !near || !is_equation(left) || !is_equation(right) {
            return Ok(false);
        }
        let moved = |name: &str| {
            if name == index {
                return Some(Expression::symbol(name) + Expression::integer(distance));
            }
            let (sequence, _, place) = term(name)?;
            Some(match place + distance {
                0 => Expression::Symbol(format!("{sequence}_{index}")),
                place => Expression::Symbol(format!("{sequence}_{index}{place:+}")),
            })
        };
        let left = left.mapped(&mut |side| side.substituted(&moved));
        self.same_relation(&left, right)
    }
}

/// Returns the index of the terms in an equation, and its largest distance from it; `None` if there are several indices.
fn last_term(equation: &Node) -> Option<(String, i64)> {
    let mut last: Option<(String, i64)> = None;
    for name in equation.names() {
        let Some((_, index, place)) = term(&name) else { continue };
        match &mut last {
            Some((known, _)) if *known != index => return None,
            Some((_, last)) => *last = place.max(*last),
            None => last = Some((index, place)),
        }
    }
    last
}

fn term(name: &str) -> Option<Term> {
    let parts = pattern!(r"^([A-Za-z])_([ijkmn])([-+][1-9])?$").captures(name)?;
    let place = parts.get(3).map_or(Ok(0), |place| place.as_str().parse()).ok()?;
    Some((parts[1].to_owned(), parts[2].to_owned(), place))
}
