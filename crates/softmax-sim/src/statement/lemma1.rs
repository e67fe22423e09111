//! Lemma 1: along any small step `δ` of the logits, `ΔH ≈ -Cov_{a~π}(log π(a), δ(a))`; and its second and
//! third order.

use super::entropy_prediction;
use super::vectors::scaled;
use crate::population::State;
use crate::report::Row;
use entropy_core::Categorical;

/// Checks `predict` along the random direction of every state: order and bounds.
pub fn check(states: &[State], predict: impl Fn(&Categorical, &[f64]) -> f64 + Sync) -> Vec<Row> {
    entropy_prediction::check(states, along, |state, eta| {
        predict(&state.policy, &along(state, eta))
    })
}

/// Checks that a prediction with higher terms leaves an error of `order`.
pub fn check_higher_order(
    states: &[State],
    order: u32,
    predict: impl Fn(&Categorical, &[f64]) -> f64 + Sync,
) -> Vec<Row> {
    let what = if order == 3 { "error after 2 terms" } else { "error after 3 terms" };
    entropy_prediction::order(what, order, states, along, |state, eta| {
        predict(&state.policy, &along(state, eta))
    })
}

fn along(state: &State, eta: f64) -> Vec<f64> {
    scaled(&state.direction, eta)
}
