//! Values by cases against anything else: point by point.

use std::cmp::Ordering;

use dashu::Rational;

use super::{Comparison, Finding};
use crate::answer::{Node, Piece, Relation};
use crate::expression::Expression;
use crate::numeric;
use crate::relation;
use crate::table::single;
use crate::verdict::Rung;

/// Twice the coordinates at which values are compared, beside the ends of the cases.
const HALVES: [i64; 15] = [-14, -7, -6, -4, -3, -2, -1, 0, 1, 2, 3, 4, 6, 7, 14];
/// Points at which both sides must agree.
const ENOUGH: usize = 6;

/// An answer at a point.
enum At {
    Value(Expression),
    /// No case holds there.
    Outside,
}

impl Comparison {
    /// Compares two answers in one variable at points in every case; `None` where the cases cannot be told apart.
    pub(super) fn pointwise(&mut self, left: &Node, right: &Node) -> Option<Finding> {
        let name = variable(left).or_else(|| variable(right))?;
        let mut met = [left, right].map(|answer| vec![false; pieces(answer).len()]);
        let mut agreed = 0;
        for point in self.points([left, right], &name)? {
            let a = self.at(left, &name, &point, &mut met[0])?;
            let b = self.at(right, &name, &point, &mut met[1])?;
            match (a, b) {
                (At::Value(a), At::Value(b)) => match self.expressions(&a, &b) {
                    Ok((true, _)) => agreed += 1,
                    Ok(found) if !self.undecided => return Some(found),
                    Ok(_) => return None,
                    Err(_) => {
                        let mut is_defined = |value| self.expressions(value, value).is_ok();
                        if is_defined(&a) != is_defined(&b) {
                            return None;
                        }
                    }
                },
                // One side has no value where the other has one.
                (At::Value(only), At::Outside) | (At::Outside, At::Value(only)) => {
                    if self.expressions(&only, &only).is_ok() {
                        return None;
                    }
                }
                (At::Outside, At::Outside) => {}
            }
        }
        let all = met.iter().flatten().all(|met| *met);
        (all && agreed >= ENOUGH).then_some((true, Rung::Enclosure))
    }

    /// Returns the points of comparison: some fixed ones, and each end of a case with two points beside it.
    ///
    /// `None` if both answers are cases and an end is not rational: two ends may lie between the points.
    fn points(&mut self, answers: [&Node; 2], name: &str) -> Option<Vec<Rational>> {
        let half = |count: i64| Rational::from_parts_signed(count.into(), 2_u8.into());
        let mut points: Vec<Rational> = HALVES.map(half).to_vec();
        // Only integers are even or odd.
        let of_integers = |piece: &Piece| {
            piece.region.as_ref().is_some_and(Node::is_residue) || piece.divisor().is_some()
        };
        let of_integers = answers.iter().flat_map(|answer| pieces(answer)).any(of_integers);
        let only_cases = answers.iter().all(|answer| matches!(answer, Node::Piecewise(_)));
        for piece in answers.into_iter().flat_map(pieces) {
            let is_end = |side: &&Node| !side.has_variable() && !side.is_residue();
            let sides = piece.region.iter().flat_map(Node::items).filter_map(|part| match part {
                Node::Chain { sides, .. } => Some(sides),
                _ => None,
            });
            for side in sides.flatten().filter(is_end) {
                let end = self.algebra.normalise(side.plain()?).ok()?.as_constant();
                match end {
                    Some(end) => {
                        let near = Rational::from_parts(1.into(), 128_u8.into());
                        points.extend([&end - &near, end.clone(), &end + &near]);
                    }
                    None if only_cases => return None,
                    None => {}
                }
            }
        }
        if of_integers || matches!(name, "n" | "m" | "k" | "p" | "N") {
            points.retain(Rational::is_int);
        }
        Some(points)
    }

    /// Returns the value at a point; `None` where a condition is not decided.
    fn at(&mut self, node: &Node, name: &str, point: &Rational, met: &mut [bool]) -> Option<At> {
        let number = Expression::Number(point.clone());
        let Node::Piecewise(pieces) = node else {
            return Some(At::Value(node.plain()?.with(name, &number)));
        };
        for (piece, met) in pieces.iter().zip(met) {
            if self.holds(piece, name, point)? {
                *met = true;
                return Some(At::Value(value_of(piece)?.with(name, &number)));
            }
        }
        Some(At::Outside)
    }

    /// Returns true if the condition of a case holds at a point.
    fn holds(&mut self, piece: &Piece, name: &str, point: &Rational) -> Option<bool> {
        match (&piece.region, piece.condition.as_deref()) {
            (None, None) => Some(true),
            (Some(region), _) => self.lies_in(region, name, point),
            // "n even", `3 \nmid n`
            _ => {
                let (_, divisor, divides) = piece.divisor()?;
                Some(point.is_int() && (point / Rational::from(divisor)).is_int() == divides)
            }
        }
    }

    fn lies_in(&mut self, region: &Node, name: &str, point: &Rational) -> Option<bool> {
        let Node::Chain { sides, relations } = region else {
            // `k = \pm 2`, "k < -2 or k > 2"; `x > 1, x \ne 2`
            let parts = region.items();
            let equation = |part: &Node| matches!(part, Node::Chain { relations, .. } if *relations == [Relation::Equal]);
            let any = matches!(region, Node::List { close: '|', .. }) || parts.iter().all(equation);
            for part in parts {
                let part = Some(part).filter(|part| part.is_chain())?;
                if self.lies_in(part, name, point)? == any {
                    return Some(any);
                }
            }
            return Some(!any);
        };
        let number = Expression::Number(point.clone());
        for (pair, relation) in sides.windows(2).zip(relations) {
            let [a, b] = [&pair[0], &pair[1]].map(|side| Some(side.plain()?.with(name, &number)));
            let (a, b) = (a?, b?);
            if let Some([residue, modulus]) = b.arguments_of("pmod") {
                let turns = (a - residue.clone()) / modulus.clone();
                let turns = self.algebra.normalise(&turns).ok()?.as_constant()?;
                if turns.is_int() == (*relation == Relation::NotEqual) {
                    return Some(false);
                }
                continue;
            }
            let order = match self.expressions(&a, &b) {
                Ok((true, _)) => Ordering::Equal,
                _ => numeric::order(&a, &b, &mut self.enclosure_fuel)?,
            };
            if !relation.holds(order)? {
                return Some(false);
            }
        }
        Some(true)
    }
}

/// Returns the value of a case without its label; words as a name.
fn value_of(piece: &Piece) -> Option<Expression> {
    let value = relation::labelled(&piece.value).map_or(&piece.value, |(_, value)| value);
    match value {
        Node::Words(words) => Some(Expression::symbol(words)),
        value => value.plain().cloned(),
    }
}

fn pieces(node: &Node) -> &[Piece] {
    if let Node::Piecewise(pieces) = node { pieces } else { &[] }
}

/// Returns the only variable of the conditions.
fn variable(node: &Node) -> Option<String> {
    let of_region = |piece: &Piece| piece.region.as_ref().map(Node::names);
    let of_words = |piece: &Piece| Some([piece.divisor()?.0.to_owned()].into());
    let of_piece = |piece| of_region(piece).or_else(|| of_words(piece));
    let names: Vec<_> = pieces(node).iter().filter_map(of_piece).collect();
    let name = single(names.first()?.iter().cloned())?;
    names.iter().all(|names| names.len() == 1 && names.contains(&name)).then_some(name)
}
