//! Mutual information of prompt and response, exact.

use super::rows::Rows;
use crate::environment::Questions;
use entropy_core::StateGraph;
use rayon::prelude::*;

/// Most probabilities that are computed: prompts times responses.
const MOST_PROBABILITIES: usize = 1 << 24;

/// Mutual information of prompt and response under the policy of `parameters`, in nats, where prompts are as likely as each
/// other; none where prompts times responses are more than 16,777,216.
///
/// ```text
/// I(X; Y) = H(mean over prompts of π(·|x)) - mean over prompts of H(π(·|x))
/// ```
///
/// 0 of a policy that answers every prompt alike, at most `ln prompts`. A response is its actions; states that noise changes are
/// summed over. Derivation: `docs/theory.md#prompt-information`.
pub fn prompt_information(questions: &Questions, parameters: &[f64]) -> Option<f64> {
    let shape = questions.shape();
    let responses = shape.actions.checked_pow(u32::try_from(shape.positions).ok()?)?;
    let probabilities = responses.checked_mul(shape.prompts)?;
    if probabilities > MOST_PROBABILITIES {
        return None;
    }
    let all: Vec<usize> = (0..shape.prompts).collect();
    let policy = Rows::of(questions, parameters, &all);
    let first_actions: Vec<usize> = (0..shape.actions).collect();
    let parts: Vec<f64> =
        first_actions.into_par_iter().map(|first| of_first(questions, &policy, first)).collect();
    Some(parts.iter().sum::<f64>().max(0.0))
}

/// The part of the responses that begin with action `first`.
fn of_first(questions: &Questions, policy: &Rows, first: usize) -> f64 {
    let shape = questions.shape();
    let mut mean = vec![];
    let mut entropies = 0.0;
    let mut probs = vec![];
    for policy in policy.probs().chunks_exact(questions.row()) {
        probs.clear();
        let tree = (questions.states(), policy, shape.actions);
        write_action(tree, &[(0, 1.0)], first, shape.positions, &mut probs);
        mean.resize(probs.len(), 0.0);
        for (total, prob) in std::iter::zip(&mut mean, &probs) {
            *total += prob;
            entropies += surprise(*prob);
        }
    }
    let prompts = shape.prompts as f64;
    mean.iter().map(|total| surprise(total / prompts)).sum::<f64>() - entropies / prompts
}

fn surprise(prob: f64) -> f64 {
    if prob > 0.0 { -prob * prob.ln() } else { 0.0 }
}

/// Appends the probabilities of the responses to a prompt that go on with `action`, in the order of their actions.
///
/// `here` has the states that the tokens before may have led to, each with the probability of them and of the state; `policy` is
/// `[states, actions]`; `left` tokens are to come.
fn write_action(
    (graph, policy, actions): (&StateGraph, &[f64], usize),
    here: &[(usize, f64)],
    action: usize,
    left: usize,
    probs: &mut Vec<f64>,
) {
    let leaving =
        here.iter().map(|&(state, prob)| (state, prob * policy[state * actions + action]));
    if left == 1 {
        probs.push(leaving.map(|(_, prob)| prob).sum());
        return;
    }
    let mut next: Vec<(usize, f64)> = vec![];
    for (state, prob) in leaving {
        for &(arrival, arriving) in graph.arrivals(state, action) {
            match next.iter_mut().find(|(known, _)| *known == arrival) {
                Some((_, total)) => *total += prob * arriving,
                None => next.push((arrival, prob * arriving)),
            }
        }
    }
    for action in 0..actions {
        write_action((graph, policy, actions), &next, action, left - 1, probs);
    }
}
