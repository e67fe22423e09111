//! What Lemma 1 and both theorems have in common: a step of the logits and a prediction of the change
//! of entropy, right to first order.

use crate::population::{Population, State};
use crate::report::Row;
use entropy_core::{Categorical, PairedMoments};

/// Ranges of the steps that the order is read from: small enough for the second order to rule, large
/// enough for the exact change to have digits left beyond it.
const SMALL_RANGES: [f64; 7] = [1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5, 3.125e-5, 1.5625e-5];

/// Ranges that the bounds are checked at besides, up to steps that turn a policy over.
const LARGE_RANGES: [f64; 6] = [0.01, 0.1, 0.5, 1.0, 3.0, 10.0];

/// Largest deviation of a measured order of convergence.
const ORDER_TOLERANCE: f64 = 0.05;

/// A policy's order is read if its second-order term keeps at least this share of the size of its
/// parts; where they cancel more, the third order shows through.
const READABLE_SHARE: f64 = 0.05;

/// Largest share of policies whose order may be left unread.
const UNREAD_TOLERANCE: f64 = 0.5;

/// Checks the predictions of one statement over the states of all populations.
///
/// `step` and `predict` take a state and a step size; the step is linear in it.
pub(super) fn check(
    statement: &str,
    populations: &[Population],
    step: impl Fn(&State<'_>, f64) -> Vec<f64> + Sync,
    predict: impl Fn(&State<'_>, f64) -> f64 + Sync,
) -> Vec<Row> {
    let measure = |state: State<'_>| Measurement::of(&state, &step, &predict);
    let found: Vec<Measurement> =
        populations.iter().flat_map(|population| population.map(measure)).collect();
    let unread = found.iter().filter(|found| found.order.is_none()).count() as f64;
    let rows = [
        Row::of(
            statement,
            "order of the remainder in the step size, distance from 2",
            ORDER_TOLERANCE,
            found.iter().filter_map(|found| found.order).map(|order| (order - 2.0).abs()),
        ),
        Row::of(
            statement,
            "share of policies whose second-order term vanishes",
            UNREAD_TOLERANCE,
            [unread / found.len() as f64],
        )
        .over(found.len()),
        Row::of(
            statement,
            "remainder over its bound",
            1.0,
            found.iter().flat_map(|found| found.shares_of_bound.iter().copied()),
        ),
        Row::of(
            statement,
            "remainder over its bound for peaked policies",
            1.0,
            found.iter().flat_map(|found| found.shares_of_local_bound.iter().copied()),
        ),
    ];
    rows.to_vec()
}

/// What one state shows of a prediction.
struct Measurement {
    order: Option<f64>,
    shares_of_bound: Vec<f64>,
    shares_of_local_bound: Vec<f64>,
}

impl Measurement {
    fn of(
        state: &State<'_>,
        step: impl Fn(&State<'_>, f64) -> Vec<f64>,
        predict: impl Fn(&State<'_>, f64) -> f64,
    ) -> Self {
        let policy = &state.policy;
        // Step sizes are in units of the step's range: an update rule's own step may be as small as
        // the policy is peaked.
        let unit = 1.0 / range(policy, &step(state, 1.0));
        let remainder = |size: f64| {
            let step = step(state, size * unit);
            let remainder = (policy.entropy_change(&step) - predict(state, size * unit)).abs();
            (step, remainder)
        };
        let errors: Vec<f64> = SMALL_RANGES.iter().map(|size| remainder(*size).1.ln()).collect();
        let sizes = SMALL_RANGES.map(f64::ln);
        let moments = PairedMoments::of(&sizes, &errors);

        let mut measurement = Self {
            order: is_readable(policy, &step(state, unit))
                .then_some(moments.sum_xy / moments.sum_xx),
            shares_of_bound: Vec::new(),
            shares_of_local_bound: Vec::new(),
        };
        for size in SMALL_RANGES.into_iter().chain(LARGE_RANGES) {
            let (step, remainder) = remainder(size);
            measurement.shares_of_bound.push(remainder / policy.remainder_bound(&step));
            measurement.shares_of_local_bound.push(remainder / policy.local_remainder_bound(&step));
        }
        measurement
    }
}

/// Whether the second-order term of the entropy along `step` is more than a remnant of its parts.
fn is_readable(policy: &Categorical, step: &[f64]) -> bool {
    let mean = policy.mean(step);
    let size: f64 = (0..policy.actions())
        .filter(|action| policy.probs()[*action] > 0.0)
        .map(|action| {
            let weight = policy.probs()[action] * (1.0 + policy.centred_log_probs()[action]).abs();
            weight * (step[action] - mean).powi(2)
        })
        .sum();
    policy.entropy_curvature(step).abs() >= READABLE_SHARE * size
}

/// Largest less smallest value over the possible actions.
fn range(policy: &Categorical, step: &[f64]) -> f64 {
    let possible = std::iter::zip(policy.log_probs(), step)
        .filter(|(log_prob, _)| **log_prob > f64::NEG_INFINITY)
        .map(|(_, value)| *value);
    let (low, high) = possible.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
        (low.min(value), high.max(value))
    });
    high - low
}
