//! Checks that Lemma 1 and the theorems share: a step of the logits against a prediction of the change of
//! entropy along it.

use super::order;
use super::vectors::{over_states, range};
use crate::population::State;
use crate::report::Row;

/// Ranges of the steps that the bounds are checked at, up to steps that turn a policy over.
const RANGES: [f64; 9] = [1e-5, 1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0];

/// Checks the first-order predictions of a statement over all states: order of
/// the error, and both bounds on it.
///
/// `step` and `predict` take a state and a step size; the step is linear in it.
pub(super) fn check(
    states: &[State],
    step: impl Fn(&State, f64) -> Vec<f64> + Sync,
    predict: impl Fn(&State, f64) -> f64 + Sync,
) -> Vec<Row> {
    let mut rows = order("error", 2, states, &step, &predict);
    let measure = |state: &State| shares_of_bounds(state, &step, &predict);
    let shares: Vec<[f64; 2]> = over_states(states, measure).into_iter().flatten().collect();
    let [general, local] = [0, 1].map(|bound| shares.iter().map(move |share| share[bound]));
    rows.extend([
        Row::of("error over its bound", 1.0, general)
            .by("steps of range 1e-5 to 10 against C_n range²"),
        Row::of("error over its bound for peaked policies", 1.0, local)
            .by("steps of range 1e-5 to 10 against ½ (1 + Z + ω) exp(ω) Var(δ)"),
    ]);
    rows
}

/// Checks that the error of `predict` falls with that `power` of the step.
pub(super) fn order(
    what: &str,
    power: u32,
    states: &[State],
    step: impl Fn(&State, f64) -> Vec<f64> + Sync,
    predict: impl Fn(&State, f64) -> f64 + Sync,
) -> Vec<Row> {
    let read = |state: &State| {
        let unit = unit(state, &step);
        order::slope(power, |size| {
            let change = state.policy.entropy_change(&step(state, size * unit));
            change - predict(state, size * unit)
        })
    };
    order::rows(what, power, over_states(states, read))
}

/// The step size of a step of range 1: an update rule's own step may be as small as the policy is
/// peaked.
fn unit(state: &State, step: impl Fn(&State, f64) -> Vec<f64>) -> f64 {
    1.0 / range(&state.policy, &step(state, 1.0))
}

/// Shares of both bounds that the error takes, for each of the [`RANGES`].
fn shares_of_bounds(
    state: &State,
    step: impl Fn(&State, f64) -> Vec<f64>,
    predict: impl Fn(&State, f64) -> f64,
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
