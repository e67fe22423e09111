//! Whole sequences: the chain rule of their entropy, and its first-order change. Lemma 1 summed over the tokens differs
//! from it by the change of the states visited.

use super::order;
use super::process::Process;
use super::vectors::{policy, span};
use crate::report::Row;
use entropy_core::{Categorical, SequenceEntropyChange, StateGraph, UpdateRule};
use std::iter::zip;

const PROCESSES: u64 = 60;
const STATES: usize = 5;

/// Entropy of a whole sequence, in nats.
pub type Entropy = fn(&StateGraph, &[Categorical]) -> f64;

/// Its first-order change along a step of each state, `[states][actions]`, in nats.
pub type Change = fn(&StateGraph, &[Categorical], &[Vec<f64>]) -> SequenceEntropyChange;

/// Checks the formulas against sums over every sequence there is, and along both gradients of the return.
pub fn check(seed: u64, entropy: Entropy, change: Change) -> Vec<Row> {
    let (mut entropies, mut changes, mut within) = (Vec::new(), Vec::new(), Vec::new());
    let mut readings = [Vec::new(), Vec::new(), Vec::new()];
    for index in 0..PROCESSES {
        let process = Process::random(seed, index, STATES);
        let exact = entropy_of(&process);
        entropies.push((entropy(&process.graph, &process.policies) - exact).abs());
        let along = |step: &[Vec<f64>]| change(&process.graph, &process.policies, step);
        let predicted = along(&process.step);
        let slope = -process.expect(|way| way.slope * (way.log_prob + exact));
        changes.push((predicted.total() - slope).abs());
        within.push((predicted.within_states - process.expect(|way| way.lemma_1)).abs());
        let steps = [
            process.step.clone(),
            gradient(&process, UpdateRule::PolicyGradient),
            gradient(&process, UpdateRule::NaturalPolicyGradient),
        ];
        for (readings, step) in zip(&mut readings, steps) {
            let predicted = along(&step).total();
            let unit = 1.0 / range(&step);
            readings.push(order::slope(2, |width| {
                let width = unit * width;
                (entropy_of(&process.moved(&step, width)) - exact) - width * predicted
            }));
        }
    }
    let all = "all ways through 60 random processes of up to 5 states added up";
    let mut rows = vec![
        Row::of("entropy by the chain rule, gap", 1e-13, entropies).by(all),
        Row::of("change: gap to -Cov_y(log π(y), d log π(y))", 1e-13, changes).by(all),
        Row::of("part within states: gap to Lemma 1 as visited", 1e-13, within).by(all),
    ];
    for (error, readings) in
        zip(["error", "error, policy gradient", "error, natural gradient"], readings)
    {
        rows.extend(order::rows(error, 2, readings));
    }
    rows.push(visits_alone(change));
    rows
}

fn entropy_of(process: &Process) -> f64 {
    -process.expect(|way| way.log_prob)
}

/// The gradient of the expected return in the logits: Proposition 1 times the visits, or the advantage of each action.
fn gradient(process: &Process, rule: UpdateRule) -> Vec<Vec<f64>> {
    let states = zip(zip(&process.policies, process.visits()), process.action_values());
    let step = |((policy, visits), values): ((&Categorical, f64), Vec<f64>)| match rule {
        UpdateRule::PolicyGradient => rule.step(policy, &values, visits),
        UpdateRule::NaturalPolicyGradient => rule.step(policy, &values, 1.0),
    };
    states.map(step).collect()
}

fn range(step: &[Vec<f64>]) -> f64 {
    step.iter().map(|step| span(step.iter().copied())).fold(0.0, f64::max)
}

/// The example by hand: a fair first token leads to a fair coin or to certainty. Moved towards the coin, the entropy
/// rises by half of ln 2 per nat of the logits, and Lemma 1 sees nothing in any state.
fn visits_alone(change: Change) -> Row {
    let next = vec![vec![vec![(1, 1.0)], vec![(2, 1.0)]], vec![vec![]; 2], vec![vec![]]];
    let step = vec![vec![1.0, -1.0], vec![0.0; 2], vec![0.0]];
    let policies: Vec<_> = step.iter().map(|step| policy(&vec![0.0; step.len()])).collect();
    let process = Process::of(next, policies, step.clone(), step);
    let predicted = change(&process.graph, &process.policies, &process.step);
    let gap = predicted.within_states.abs().max((predicted.total() - 0.5 * 2f64.ln()).abs());
    Row::of("visits alone: 0 within states, ½ ln 2 in all, gap", 1e-15, [gap])
        .by("a fair token before a fair coin or certainty, moved by (1, -1)")
}
