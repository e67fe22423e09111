//! Proposition 1: one step of the policy gradient moves the logits by `η π(a|s) (A(s,a) - E A)`, up to
//! the weight of the state.

use super::process::Process;
use super::vectors::{self, difference, largest, largest_gap, over_states, policy};
use crate::population::State;
use crate::report::Row;
use entropy_core::Categorical;
use rayon::prelude::*;

/// Number of random decision processes, and of their states at most.
const PROCESSES: u64 = 12;
const STATES: usize = 6;

/// Step of the logits, `[actions]`, for an advantage and a step size.
pub type Step = fn(&Categorical, &[f64], f64) -> Vec<f64>;

/// Checks `step` against gradients that do not use it.
///
/// These are the gradient of the expected advantage, numerically and as a sum of score functions, and that of the return of
/// random decision processes.
pub fn check(states: &[State], seed: u64, step: Step) -> Vec<Row> {
    let over_states = |gradient: fn(&State) -> Vec<f64>| {
        let gap = |state: &State| {
            largest_gap(&step(&state.policy, &state.advantage, 1.0), &gradient(state))
                / largest(&state.advantage)
        };
        over_states(states, gap)
    };
    let processes: Vec<f64> = (0..PROCESSES)
        .into_par_iter()
        .flat_map_iter(|index| process_gaps(&Process::random(seed, index, STATES), step))
        .collect();
    let score_gaps = over_states(score_function_gradient);
    vec![
        Row::of("gap to the numerical gradient of E A", 1e-10, over_states(numerical_gradient))
            .by("differences of fourth order; gap over the largest advantage"),
        Row::of("gap to the mean of advantage times score function", 1e-14, score_gaps)
            .by("E[A(a) ∇log π(a)] summed over the actions; gap over the largest advantage"),
        Row::of("visits times step: gap to numerical gradient of return", 1e-9, processes)
            .by("12 random processes; the return over all ways through differentiated numerically"),
    ]
}

/// Gradient of `E_π A` with respect to the logits, by fourth-order differences.
fn numerical_gradient(state: &State) -> Vec<f64> {
    // Gaps, not logits: at 700 a shift would lose digits.
    let gaps = state.policy.centred_log_probs();
    vectors::numerical_gradient(gaps, |logits| policy(logits).mean(&state.advantage))
}

/// `E_{a~π}[A(a) ∇ log π(a)]`.
fn score_function_gradient(state: &State) -> Vec<f64> {
    let mut gradient = vec![0.0; state.logits.len()];
    for (action, prob) in state.policy.probs().iter().enumerate() {
        state.policy.vjp_log_prob(action, prob * state.advantage[action], &mut gradient);
    }
    gradient
}

/// For each state of the process, the gap between `ρ(s) · step` and the gradient of the return, in
/// units of the largest value of an action times the visits.
fn process_gaps(process: &Process, step: Step) -> Vec<f64> {
    let (values, visits) = (process.action_values(), process.visits());
    let unit = largest(&values.concat());
    let visited = (0..visits.len()).filter(|state| visits[*state] > 0.0);
    visited
        .map(|state| {
            let predicted = step(&process.policies[state], &values[state], visits[state]);
            let slope = |action: usize| {
                let mut direction: Vec<Vec<f64>> =
                    values.iter().map(|actions| vec![0.0; actions.len()]).collect();
                direction[state][action] = 1.0;
                difference(|shift| process.moved(&direction, shift).expect(|way| way.reward))
            };
            let gradient: Vec<f64> = (0..predicted.len()).map(slope).collect();
            largest_gap(&predicted, &gradient) / (unit * visits[state])
        })
        .collect()
}
