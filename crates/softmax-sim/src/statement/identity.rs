//! Finite-step identities: the exact change of entropy written with relative entropies.

use super::vectors::{moved, over_states, range};
use crate::population::State;
use crate::report::Row;
use entropy_core::{Categorical, EntropyIdentities, StepDivergence};

/// Ranges of the steps, up to those that turn a policy over.
const RANGES: [f64; 6] = [1e-3, 0.03, 0.3, 1.0, 3.0, 10.0];

/// Formulas to check; each takes a policy and a step of its logits.
#[derive(Debug, Clone, Copy)]
pub struct Formulas {
    /// The exact change of entropy, in nats.
    pub change: fn(&Categorical, &[f64]) -> f64,
    /// The change of entropy by the three identities, in nats.
    pub identities: fn(&Categorical, &[f64]) -> EntropyIdentities,
    /// The divergences between the policies before and after.
    pub divergence: fn(&Categorical, &[f64]) -> StepDivergence,
}

/// Formulas of `entropy-core`.
pub const FORMULAS: Formulas = Formulas {
    change: Categorical::entropy_change,
    identities: Categorical::entropy_change_identities,
    divergence: Categorical::step_divergence,
};

/// Checks the change of entropy and the divergences against plain sums over the policy before the step and a
/// policy made anew after it, and the identities against the change.
pub fn check(states: &[State], formulas: &Formulas) -> Vec<Row> {
    let gaps = |state: &State| -> Vec<[f64; 7]> {
        let unit = 1.0 / range(&state.policy, &state.direction);
        let gap = |range: &f64| {
            // A constant changes nothing, but where directions nearly agree it would swamp them.
            let from = state.direction[0];
            let step: Vec<f64> =
                state.direction.iter().map(|d| range * unit * (d - from)).collect();
            let policy = &state.policy;
            let change = (formulas.change)(policy, &step);
            let (identities, [forward, reverse], scale) = plain_sums(policy, &step);
            let [first, second, third] = identities.map(|sum| (change - sum).abs() / scale);
            let kl = (formulas.divergence)(policy, &step);
            let kl_gap = (kl.new_from_old - forward).abs().max((kl.old_from_new - reverse).abs());
            let forms = (formulas.identities)(policy, &step);
            // Without the two policies' own entropies: nothing cancels but what the identity itself takes away.
            let size = change.abs() + kl.new_from_old + kl.old_from_new;
            let [from_old, from_new, symmetric] = [forms.from_old, forms.from_new, forms.symmetric]
                .map(|form| (form - change).abs() / size);
            [first, second, third, kl_gap / scale, from_old, from_new, symmetric]
        };
        RANGES.iter().map(gap).collect()
    };
    let all_gaps: Vec<[f64; 7]> = over_states(states, gaps).concat();
    let row = |which: usize, check: &str, allowed: f64, by: &str| {
        Row::of(check, allowed, all_gaps.iter().map(|gaps| gaps[which])).by(by)
    };
    let plain = "plain sums, steps of range 1e-3 to 10; gap over Σ (π + q)(|log π| + |log q|)";
    let accurate =
        "sums without cancellation against the change; gap over |ΔH| + KL(q‖π) + KL(π‖q)";
    vec![
        row(0, "ΔH = -Cov(log π, q/π) - KL(q‖π), relative gap", 1e-13, plain),
        row(1, "ΔH = -Σ (q - π) log q + KL(π‖q), relative gap", 1e-13, plain),
        row(2, "ΔH = mean of both, relative gap", 1e-13, plain),
        row(3, "KL(q‖π) and KL(π‖q), relative gap", 1e-13, plain),
        row(4, "first identity to rounding, relative gap", 1e-12, accurate),
        row(5, "second identity to rounding, relative gap", 1e-12, accurate),
        row(6, "third identity to rounding, relative gap", 1e-12, accurate),
    ]
}

/// Sums as they are written, over both policies.
///
/// The right-hand side of each identity; `KL(q‖π)` and `KL(π‖q)`; and the size of the numbers they are made from,
/// `Σ (π + q)(|log π| + |log q|)`, whose rounding they carry.
fn plain_sums(policy: &Categorical, step: &[f64]) -> ([f64; 3], [f64; 2], f64) {
    let moved = moved(policy, step, 1.0);
    let (mut identities, mut divergences, mut scale) = ([0.0; 3], [0.0; 2], 0.0);
    for action in 0..policy.actions() {
        let (p, q) = (policy.probs()[action], moved.probs()[action]);
        let (log_p, log_q) = (policy.log_probs()[action], moved.log_probs()[action]);
        // Actions with no probability on either side add nothing; those that the step lifts out of 0
        // have a log-probability on both.
        if p == 0.0 && q == 0.0 {
            continue;
        }
        let (divergence, reverse) = (q * (log_q - log_p), p * (log_p - log_q));
        identities[0] -= (q - p) * log_p + divergence;
        identities[1] -= (q - p) * log_q - reverse;
        identities[2] -= 0.5 * ((q - p) * (log_p + log_q) - reverse + divergence);
        divergences[0] += divergence;
        divergences[1] += reverse;
        scale += (p + q) * (log_p.abs() + log_q.abs());
    }
    (identities, divergences, scale)
}
