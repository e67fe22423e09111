//! Comparison of values by cases: equal values under equal conditions, in any order.

use super::{Comparison, Finding, Result};
use crate::answer::Piece;

impl Comparison {
    pub(super) fn piecewise(&mut self, left: &[Piece], right: &[Piece]) -> Result<Finding> {
        self.one_to_one(left, right, |comparison, a, b| {
            let same = match (&a.region, &b.region) {
                _ if a.condition == b.condition => true,
                (Some(first), Some(second)) => comparison.compare(first, second)?.0,
                _ => false,
            };
            Ok(same && comparison.compare(&a.value, &b.value)?.0)
        })
    }
}
