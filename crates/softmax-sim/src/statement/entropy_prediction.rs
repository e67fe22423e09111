//! Checks that Lemma 1 and the theorems share: a step of the logits against a prediction of the change of
//! entropy along it.

use super::order::{self, Reading};
use super::vectors::{over_states, span};
use crate::population::{Population, State};
use crate::report::Row;
use entropy_core::Categorical;

/// Ranges of the steps that the bounds are checked at, up to steps that turn a policy over.
const RANGES: [f64; 9] = [1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0];

/// Checks the first-order predictions of one statement over the states of all populations: order of
/// the error, and both bounds on it.
///
/// `step` and `predict` take a state and a step size; the step is linear in it.
pub(super) fn check(
    statement: &str,
    populations: &[Population],
    step: impl Fn(&State<'_>, f64) -> Vec<f64> + Sync,
    predict: impl Fn(&State<'_>, f64) -> f64 + Sync,
) -> Vec<Row> {
    let mut rows = order(statement, "error", 2, populations, &step, &predict);
    let measure = |state: State<'_>| shares_of_bounds(&state, &step, &predict);
    let shares: Vec<[f64; 2]> = over_states(populations, measure).into_iter().flatten().collect();
    rows.extend([
        Row::of(statement, "error over its bound", 1.0, shares.iter().map(|share| share[0]))
            .by("steps of range 1e-5 to 10 against C_n range²"),
        Row::of(
            statement,
            "error over its bound for peaked policies",
            1.0,
            shares.iter().map(|share| share[1]),
        )
        .by("steps of range 1e-5 to 10 against ½ (1 + Z + ω) exp(ω) Var(δ)"),
    ]);
    rows
}

/// Checks that the error of `predict` falls with the power `order` of the step.
pub(super) fn order(
    statement: &str,
    what: &str,
    order: u32,
    populations: &[Population],
    step: impl Fn(&State<'_>, f64) -> Vec<f64> + Sync,
    predict: impl Fn(&State<'_>, f64) -> f64 + Sync,
) -> Vec<Row> {
    let read = |state: State<'_>| {
        let unit = unit(&state, &step);
        Reading::of(order, |size| {
            let change = state.policy.entropy_change(&step(&state, size * unit));
            change - predict(&state, size * unit)
        })
    };
    order::rows(statement, what, order, &over_states(populations, read))
}

/// The step size of a step of range 1: an update rule's own step may be as small as the policy is
/// peaked.
fn unit(state: &State<'_>, step: impl Fn(&State<'_>, f64) -> Vec<f64>) -> f64 {
    1.0 / range(&state.policy, &step(state, 1.0))
}

/// Shares of both bounds that the error takes, for each of the [`RANGES`].
fn shares_of_bounds(
    state: &State<'_>,
    step: impl Fn(&State<'_>, f64) -> Vec<f64>,
    predict: impl Fn(&State<'_>, f64) -> f64,
) -> Vec<[f64; 2]> {
    let policy = &state.policy;
    let unit = unit(state, &step);
    let share = |size: f64| {
        let step = step(state, size * unit);
        let change = policy.entropy_change(&step);
        let error = (change - predict(state, size * unit)).abs();
        // The last digit of the exact change is not the formula's. NaN is not explained by it.
        let is_rounding = error <= 4.0 * f64::EPSILON * change.abs();
        [policy.remainder_bound(&step), policy.local_remainder_bound(&step)]
            .map(|bound| if is_rounding { 0.0 } else { error / bound })
    };
    RANGES.into_iter().map(share).collect()
}

/// Largest less smallest value over the possible actions.
pub(super) fn range(policy: &Categorical, step: &[f64]) -> f64 {
    let possible = std::iter::zip(policy.log_probs(), step)
        .filter(|(log_prob, _)| **log_prob > f64::NEG_INFINITY)
        .map(|(_, value)| *value);
    span(possible)
}
