//! Comparison of values by cases: equal values under equal conditions, in any order.

use super::difference::Difference;
use super::{Comparison, Finding, Result};
use crate::answer::{Node, Piece};
use crate::normal_form;

impl Comparison {
    pub(super) fn piecewise(&mut self, left: &[Piece], right: &[Piece]) -> Result<Finding> {
        let equal = |comparison: &mut Self, a: &Piece, b: &Piece| {
            let same = match (&a.region, &b.region) {
                _ if a.condition == b.condition => true,
                (Some(first), Some(second)) => comparison.compare(first, second)?.0,
                _ => false,
            };
            Ok(same && comparison.compare(&a.value, &b.value)?.0)
        };
        let lone = |piece: &Piece, _: Vec<&Piece>| {
            let case = normal_form::as_read(&Node::Piecewise(vec![piece.clone()]));
            Difference::Shapes(case, "no such case".to_owned())
        };
        self.one_to_one(left, right, equal, lone)
    }
}
