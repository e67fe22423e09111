//! Finite-step identities: the exact change of entropy written with relative entropies.

use crate::population::{Population, State};
use crate::report::Row;
use entropy_core::Categorical;
use std::iter::zip;

const STATEMENT: &str = "Finite-step identities";

/// Ranges of the steps, up to those that turn a policy over.
const RANGES: [f64; 6] = [1e-3, 0.03, 0.3, 1.0, 3.0, 10.0];

/// The change of entropy that the identities are checked on, in nats.
pub fn change(policy: &Categorical, step: &[f64]) -> f64 {
    policy.entropy_change(step)
}

/// Checks `change` against the three identities, each summed from the policy before the step and a
/// policy made anew after it.
pub fn check(
    populations: &[Population],
    change: impl Fn(&Categorical, &[f64]) -> f64 + Sync,
) -> Vec<Row> {
    let gaps = |state: State<'_>| -> Vec<[f64; 3]> {
        let unit = 1.0 / super::entropy_prediction::range(&state.policy, state.direction);
        let gap = |range: &f64| {
            // A constant changes nothing, but where directions nearly agree it would swamp them.
            let from = state.direction[0];
            let step: Vec<f64> =
                state.direction.iter().map(|d| range * unit * (d - from)).collect();
            let found = change(&state.policy, &step);
            let (terms, scale) = identities(&state.policy, &step);
            terms.map(|terms| (found - terms.iter().sum::<f64>()).abs() / scale)
        };
        RANGES.iter().map(gap).collect()
    };
    let found: Vec<[f64; 3]> =
        populations.iter().flat_map(|population| population.map(gaps)).flatten().collect();
    let row = |which: usize, check: &str| {
        Row::of(STATEMENT, check, 1e-13, found.iter().map(|gaps| gaps[which]))
            .by("steps of range 1e-3 to 10; difference over Σ (π + q)(|log π| + |log q|)")
    };
    vec![
        row(0, "ΔH = -Cov(log π, q/π) - KL(q‖π), relative gap"),
        row(1, "ΔH = -Σ (q - π) log q + KL(π‖q), relative gap"),
        row(2, "ΔH = mean of both, relative gap"),
    ]
}

/// The terms of each identity, action by action, and the size of the numbers they are made from:
/// `Σ (π + q)(|log π| + |log q|)`, whose rounding they carry.
fn identities(policy: &Categorical, step: &[f64]) -> ([Vec<f64>; 3], f64) {
    let moved: Vec<f64> = zip(policy.centred_log_probs(), step).map(|(c, u)| c + u).collect();
    let moved = Categorical::from_logits(&moved).expect("a finite step keeps the support");
    // Actions with no probability on either side add nothing; those that the step lifts out of 0
    // have a log-probability on both.
    let mut terms = [const { Vec::new() }; 3];
    let mut scale = 0.0;
    for action in 0..policy.actions() {
        let (p, q) = (policy.probs()[action], moved.probs()[action]);
        let (log_p, log_q) = (policy.log_probs()[action], moved.log_probs()[action]);
        if p == 0.0 && q == 0.0 {
            continue;
        }
        scale += (p + q) * (log_p.abs() + log_q.abs());
        let (divergence, reverse) = (q * (log_q - log_p), p * (log_p - log_q));
        terms[0].extend([-(q - p) * log_p, -divergence]);
        terms[1].extend([-(q - p) * log_q, reverse]);
        terms[2].extend([-0.5 * (q - p) * (log_p + log_q), 0.5 * reverse, -0.5 * divergence]);
    }
    (terms, scale)
}
