//! Theorem 1: under the vanilla policy gradient, `ΔH ≈ -η Cov_{a~π}(log π(a), π(a) (A(a) - E A))`.

use super::entropy_prediction;
use super::vectors::{largest, over_states};
use crate::population::{Population, State};
use crate::report::Row;
use entropy_core::{Categorical, UpdateRule};

/// The theorem's prediction for an advantage and a step size, in nats.
pub fn predict(policy: &Categorical, advantage: &[f64], eta: f64) -> f64 {
    UpdateRule::PolicyGradient.predicted_entropy_change(policy, advantage, eta)
}

/// Checks `predict` against exact policy-gradient steps, and against the covariance spelled out.
pub fn check(
    populations: &[Population],
    predict: impl Fn(&Categorical, &[f64], f64) -> f64 + Sync,
) -> Vec<Row> {
    let mut rows = entropy_prediction::check(
        "Theorem 1",
        populations,
        |state, eta| UpdateRule::PolicyGradient.step(&state.policy, state.advantage, eta),
        |state, eta| predict(&state.policy, state.advantage, eta),
    );
    let spelled_out = |state: State<'_>| {
        let (predicted, expected) =
            (predict(&state.policy, state.advantage, 1.0), spelled_out(&state));
        (predicted - expected).abs() / scale(&state)
    };
    rows.push(
        Row::of(
            "Theorem 1",
            "gap to Cov(log π, π A) - E A · Cov(log π, π)",
            1e-13,
            over_states(populations, spelled_out),
        )
        .by("an advantage that is not centred makes the printed form wrong by exactly that term"),
    );
    rows
}

/// `-(Cov(log π, πA) - E A · Cov(log π, π))`: the paper's covariance, and what an advantage that is
/// not centred adds to it.
fn spelled_out(state: &State<'_>) -> f64 {
    let policy = &state.policy;
    let weighted: Vec<f64> =
        std::iter::zip(policy.probs(), state.advantage).map(|(p, a)| p * a).collect();
    let raw = policy.covariance(policy.log_probs(), &weighted);
    let excess =
        policy.mean(state.advantage) * policy.covariance(policy.log_probs(), policy.probs());
    -(raw - excess)
}

/// Size of the terms that cancel: nats times reward.
fn scale(state: &State<'_>) -> f64 {
    largest(state.advantage) * state.policy.entropy().max(f64::MIN_POSITIVE)
}
