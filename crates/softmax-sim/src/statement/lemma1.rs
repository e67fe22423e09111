//! Lemma 1: along any small step `δ` of the logits, `ΔH ≈ -Cov_{a~π}(log π(a), δ(a))`; and its second and
//! third order.

use super::entropy_prediction;
use super::vectors::scaled;
use crate::population::{Population, State};
use crate::report::Row;
use entropy_core::Categorical;

const STATEMENT: &str = "Lemma 1";

/// The lemma's prediction for a step of the logits, in nats.
pub fn predict(policy: &Categorical, step: &[f64]) -> f64 {
    policy.entropy_change_first_order(step)
}

/// The prediction with the second-order term, in nats.
pub fn predict_second_order(policy: &Categorical, step: &[f64]) -> f64 {
    policy.entropy_change_second_order(step)
}

/// The prediction with second- and third-order term, in nats.
pub fn predict_third_order(policy: &Categorical, step: &[f64]) -> f64 {
    policy.entropy_change_third_order(step)
}

/// Checks `predict` along the random direction of every state: order and bounds.
pub fn check(
    populations: &[Population],
    predict: impl Fn(&Categorical, &[f64]) -> f64 + Sync,
) -> Vec<Row> {
    entropy_prediction::check(STATEMENT, populations, along, |state, eta| {
        predict(&state.policy, &along(state, eta))
    })
}

/// Checks that a prediction with higher terms leaves an error of `order`.
pub fn check_higher_order(
    populations: &[Population],
    order: u32,
    predict: impl Fn(&Categorical, &[f64]) -> f64 + Sync,
) -> Vec<Row> {
    let what = if order == 3 { "error after 2 terms" } else { "error after 3 terms" };
    entropy_prediction::order(STATEMENT, what, order, populations, along, |state, eta| {
        predict(&state.policy, &along(state, eta))
    })
}

fn along(state: &State<'_>, eta: f64) -> Vec<f64> {
    scaled(state.direction, eta)
}
