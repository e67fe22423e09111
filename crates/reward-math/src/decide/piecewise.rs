//! Comparison of values by cases: equal values under equal conditions, in any order.

use super::{Comparison, Finding, Result};
use crate::answer::{Node, Piece};
use crate::expression::Expression;
use crate::verdict::Rung;

impl Comparison {
    pub(super) fn piecewise(&mut self, left: &[Piece], right: &[Piece]) -> Result<Finding> {
        if left.len() != right.len() {
            return Ok((false, Rung::Structure));
        }
        let mut free: Vec<&Piece> = right.iter().collect();
        for piece in left {
            let mut match_index = None;
            for (index, other) in free.iter().enumerate() {
                if self.same_condition((piece, left), (other, right))?
                    && self.compare(&piece.value, &other.value)?.0
                {
                    match_index = Some(index);
                    break;
                }
            }
            let Some(index) = match_index else { return Ok((false, Rung::Structure)) };
            free.swap_remove(index);
        }
        Ok((true, Rung::Structure))
    }

    fn same_condition(
        &mut self,
        (a, all_a): (&Piece, &[Piece]),
        (b, all_b): (&Piece, &[Piece]),
    ) -> Result<bool> {
        if a.condition == b.condition {
            return Ok(true);
        }
        match (a.condition.is_some(), b.condition.is_some()) {
            (true, true) => match (&a.region, &b.region) {
                (Some(first), Some(second)) => Ok(self.compare(first, second)?.0),
                _ => Ok(false),
            },
            (true, false) => self.is_rest(a, all_a),
            (false, true) => self.is_rest(b, all_b),
            (false, false) => Ok(true),
        }
    }

    /// Returns true if a condition holds exactly where none of the others does, so that it means "otherwise".
    fn is_rest(&mut self, piece: &Piece, all: &[Piece]) -> Result<bool> {
        let others: Option<Vec<Node>> = all
            .iter()
            .filter(|other| !std::ptr::eq(*other, piece))
            .map(|other| other.region.clone())
            .collect();
        let (Some(region), Some(others)) = (&piece.region, others) else { return Ok(false) };
        let reals = Node::Value {
            expression: Expression::Symbol("\\mathbb R".to_owned()),
            unit: None,
            percent: false,
            plus: true,
        };
        let mut parts = vec![reals];
        parts.extend(others);
        Ok(self.same_region(region, &Node::Difference(parts))? == Some(true))
    }
}
