//! The entropies beside Shannon's: Tsallis' and Rényi's answer a step by a covariance too.

use super::order;
use super::vectors::{moved, over_states, range, scaled};
use crate::population::State;
use crate::report::Row;
use entropy_core::Categorical;

/// Orders `q` that are checked, on either side of Shannon's 1.
const ORDERS: [f64; 4] = [0.5, 1.0, 2.0, 3.0];

/// An entropy of a kind and its first-order change along a step.
#[derive(Debug, Clone, Copy)]
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// The entropy of order `q`.
    pub entropy: fn(&Categorical, f64) -> f64,
    /// Its first-order change.
    pub change: fn(&Categorical, f64, &[f64]) -> f64,
}

/// Those of `entropy-core`; no number where the order is refused.
pub const KINDS: [Kind; 2] = [
    Kind {
        name: "Tsallis",
        entropy: |policy, q| policy.tsallis_entropy(q).unwrap_or(f64::NAN),
        change: |policy, q, step| policy.tsallis_change_first_order(q, step).unwrap_or(f64::NAN),
    },
    Kind {
        name: "Rényi",
        entropy: |policy, q| policy.renyi_entropy(q).unwrap_or(f64::NAN),
        change: |policy, q, step| policy.renyi_change_first_order(q, step).unwrap_or(f64::NAN),
    },
];

/// Checks each kind: its value against the plain sum, its change by the order of the error.
pub fn check(states: &[State], kinds: &[Kind; 2]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (index, kind) in kinds.iter().enumerate() {
        let gaps = |state: &State| {
            ORDERS.map(|q| {
                let expected = plain(&state.policy, q)[index];
                ((kind.entropy)(&state.policy, q) - expected).abs() / expected.abs().max(1.0)
            })
        };
        let gaps = over_states(states, gaps).into_iter().flatten();
        rows.push(
            Row::of(&format!("{}: gap to the plain sum", kind.name), 1e-13, gaps)
                .by("orders 1/2, 1, 2 and 3, the sum of π^q as it is written"),
        );
        let read = |state: &State| ORDERS.map(|q| reading(state, kind, q));
        let readings = over_states(states, read).concat();
        rows.extend(order::rows(&format!("error, {}", kind.name), 2, readings));
    }
    rows
}

/// How the error of the first-order change falls along the direction of a state.
fn reading(state: &State, kind: &Kind, q: f64) -> Option<f64> {
    let unit = 1.0 / range(&state.policy, &state.direction);
    let before = (kind.entropy)(&state.policy, q);
    order::slope(2, |size| {
        let step = scaled(&state.direction, size * unit);
        let after = (kind.entropy)(&moved(&state.policy, &step, 1.0), q);
        (after - before) - (kind.change)(&state.policy, q, &step)
    })
}

/// Entropies of Tsallis and Rényi by `Σ π^q` over the possible actions.
fn plain(policy: &Categorical, q: f64) -> [f64; 2] {
    if (q - 1.0).abs() < f64::EPSILON {
        return [policy.entropy(); 2];
    }
    let possible = policy.probs().iter().filter(|prob| **prob > 0.0);
    let sum: f64 = possible.map(|prob| prob.powf(q)).sum();
    [(1.0 - sum) / (q - 1.0), sum.ln() / (1.0 - q)]
}
