//! Theorem 1: under the vanilla policy gradient, `ΔH ≈ -η Cov_{a~π}(log π(a), π(a) (A(a) - E A))`. Theorem 2: under the
//! natural one, `ΔH ≈ -η Cov_{a~π}(log π(a), A(a))`.

use super::entropy_prediction;
use super::vectors::{largest, largest_gap, over_states};
use crate::population::State;
use crate::report::Row;
use entropy_core::{Categorical, UpdateRule};

/// Change of entropy, in nats, under a rule for an advantage and a step size.
pub type Predict = fn(UpdateRule, &Categorical, &[f64], f64) -> f64;

/// Checks `predict` against exact policy-gradient steps, and against the covariance spelled out.
pub fn check_theorem_1(states: &[State], predict: Predict) -> Vec<Row> {
    let rule = UpdateRule::PolicyGradient;
    let mut rows = against_steps(rule, states, predict);
    let gaps = over_states(states, |state| {
        let (predicted, expected) =
            (predict(rule, &state.policy, &state.advantage, 1.0), spelled_out(state));
        // Size of the terms that cancel: nats times reward.
        let scale = largest(&state.advantage) * state.policy.entropy().max(f64::MIN_POSITIVE);
        (predicted - expected).abs() / scale
    });
    rows.push(
        Row::of("gap to Cov(log π, π A) - E A · Cov(log π, π)", 1e-13, gaps).by(
            "an advantage that is not centred makes the printed form wrong by exactly that term",
        ),
    );
    rows
}

/// Checks `predict` against natural steps, and that the natural step is the one which the Fisher
/// information maps to the gradient.
pub fn check_theorem_2(states: &[State], predict: Predict) -> Vec<Row> {
    let mut rows = against_steps(UpdateRule::NaturalPolicyGradient, states, predict);
    let gaps = over_states(states, fisher_gap);
    rows.push(
        Row::of("Fisher information times natural step: gap to gradient", 1e-14, gaps)
            .by("E[∇log π (∇log π · δ)] summed over the actions; gap over the largest advantage"),
    );
    rows
}

fn against_steps(rule: UpdateRule, states: &[State], predict: Predict) -> Vec<Row> {
    entropy_prediction::check(
        states,
        |state, eta| rule.step(&state.policy, &state.advantage, eta),
        |state, eta| predict(rule, &state.policy, &state.advantage, eta),
    )
}

/// `-(Cov(log π, πA) - E A · Cov(log π, π))`: the paper's covariance, and what an advantage that is
/// not centred adds to it.
fn spelled_out(state: &State) -> f64 {
    let (policy, advantage) = (&state.policy, &state.advantage);
    let weighted: Vec<f64> =
        std::iter::zip(policy.probs(), advantage).map(|(p, a)| p * a).collect();
    let raw = policy.covariance(policy.log_probs(), &weighted);
    let excess = policy.mean(advantage) * policy.covariance(policy.log_probs(), policy.probs());
    -(raw - excess)
}

/// Largest component of `E[∇log π (∇log π · δ)] - ∇J`, over the largest advantage.
fn fisher_gap(state: &State) -> f64 {
    let (policy, advantage) = (&state.policy, &state.advantage);
    let natural = UpdateRule::NaturalPolicyGradient.step(policy, advantage, 1.0);
    let gradient = UpdateRule::PolicyGradient.step(policy, advantage, 1.0);
    let mut image = vec![0.0; policy.actions()];
    for (action, prob) in policy.probs().iter().enumerate() {
        let mut score = vec![0.0; policy.actions()];
        policy.vjp_log_prob(action, 1.0, &mut score);
        let along: f64 = std::iter::zip(&score, &natural).map(|(s, d)| s * d).sum();
        for (image, score) in std::iter::zip(&mut image, &score) {
            *image += prob * along * score;
        }
    }
    largest_gap(&image, &gradient) / largest(advantage)
}
