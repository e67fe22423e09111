//! Terms that cancel exactly, recognised from the inputs: no precision shows a 0.

use super::big::{Big, exactly};
use super::direction::Direction;
use crate::categorical::Categorical;
use std::cmp::Ordering;

/// Tests whether the covariance of log-probability and step is 0: among actions of equal logit the mean of the step (of the
/// advantage, where that makes the step) is the same for every logit.
///
/// The covariance is a sum over pairs of logits, `Σ π_i π_j (z_i - z_j)(n_j Σδ_i - n_i Σδ_j)`: it is 0 if every term
/// is, and, but for the policy gradient, only then. Proof: `docs/theory.md#cancellation`.
pub(super) fn is_uncorrelated(policy: &Categorical, direction: Direction) -> bool {
    let (logits, column) = (policy.logits(), direction.column);
    let mut actions: Vec<usize> = policy.possible().collect();
    // Zeros of either sign are one logit.
    let order = |a: usize, b: usize| logits[a].partial_cmp(&logits[b]).unwrap_or(Ordering::Equal);
    actions.sort_by(|&a, &b| order(a, b));
    let groups = actions.chunk_by(|&a, &b| order(a, b).is_eq());
    let mut means = groups.map(|group| {
        let total: Big = group.iter().map(|&action| exactly(column[action])).sum();
        (total, exactly(group.len() as f64))
    });
    let Some((total, size)) = means.next() else { return true };
    means.all(|(other_total, other_size)| &total * other_size == other_total * &size)
}

/// Returns true if the step only renames the actions of the policy, so that `ΔH = 0`.
pub(super) fn is_renaming(logits: &[f64], moved: &[Big]) -> bool {
    let gaps = |mut logits: Vec<Big>| {
        logits.sort();
        let largest = logits.last().cloned().unwrap_or(Big::ZERO);
        logits.into_iter().map(|logit| logit - &largest).collect::<Vec<Big>>()
    };
    let possible = logits.iter().filter(|logit| **logit > f64::NEG_INFINITY);
    gaps(possible.map(|logit| exactly(*logit)).collect()) == gaps(moved.to_vec())
}
