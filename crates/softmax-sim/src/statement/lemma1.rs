//! Lemma 1: along any small step `δ` of the logits, `ΔH ≈ -Cov_{a~π}(log π(a), δ(a))`.

use super::entropy_prediction;
use crate::population::Population;
use crate::report::Row;
use entropy_core::Categorical;

/// The lemma's prediction for a step of the logits, in nats.
pub fn predict(policy: &Categorical, step: &[f64]) -> f64 {
    policy.entropy_change_first_order(step)
}

/// Checks `predict` along the random direction of every state.
pub fn check(
    populations: &[Population],
    predict: impl Fn(&Categorical, &[f64]) -> f64 + Sync,
) -> Vec<Row> {
    let scaled = |direction: &[f64], eta: f64| direction.iter().map(|d| eta * d).collect();
    entropy_prediction::check(
        "Lemma 1",
        populations,
        |state, eta| scaled(state.direction, eta),
        |state, eta| {
            let step: Vec<f64> = scaled(state.direction, eta);
            predict(&state.policy, &step)
        },
    )
}
