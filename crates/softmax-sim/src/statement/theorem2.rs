//! Theorem 2: under the natural policy gradient, `ΔH ≈ -η Cov_{a~π}(log π(a), A(a))`.

use super::entropy_prediction;
use super::vectors::{largest, largest_gap, over_states};
use crate::population::{Population, State};
use crate::report::Row;
use entropy_core::{Categorical, UpdateRule};

/// The theorem's prediction for an advantage and a step size, in nats.
pub fn predict(policy: &Categorical, advantage: &[f64], eta: f64) -> f64 {
    UpdateRule::NaturalPolicyGradient.predicted_entropy_change(policy, advantage, eta)
}

/// Checks `predict` against natural steps, and that the natural step is the one which the Fisher
/// information maps to the gradient.
pub fn check(
    populations: &[Population],
    predict: impl Fn(&Categorical, &[f64], f64) -> f64 + Sync,
) -> Vec<Row> {
    let mut rows = entropy_prediction::check(
        "Theorem 2",
        populations,
        |state, eta| UpdateRule::NaturalPolicyGradient.step(&state.policy, state.advantage, eta),
        |state, eta| predict(&state.policy, state.advantage, eta),
    );
    rows.push(
        Row::of(
            "Theorem 2",
            "Fisher information times natural step: gap to gradient",
            1e-14,
            over_states(populations, |state| fisher_gap(&state)),
        )
        .by("E[∇log π (∇log π · δ)] summed over the actions; gap over the largest advantage"),
    );
    rows
}

/// Largest component of `E[∇log π (∇log π · δ)] - ∇J`, over the largest advantage.
fn fisher_gap(state: &State<'_>) -> f64 {
    let policy = &state.policy;
    let natural = UpdateRule::NaturalPolicyGradient.step(policy, state.advantage, 1.0);
    let gradient = UpdateRule::PolicyGradient.step(policy, state.advantage, 1.0);
    let mut image = vec![0.0; policy.actions()];
    for (action, prob) in policy.probs().iter().enumerate() {
        let mut score = vec![0.0; policy.actions()];
        policy.vjp_log_prob(action, 1.0, &mut score);
        let along: f64 = std::iter::zip(&score, &natural).map(|(s, d)| s * d).sum();
        for (image, score) in std::iter::zip(&mut image, &score) {
            *image += prob * along * score;
        }
    }
    largest_gap(&image, &gradient) / largest(state.advantage)
}
