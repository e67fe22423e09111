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
        let tree = Tree { graph: questions.states(), policy, actions: shape.actions };
        probs.clear();
        tree.write_action(&[(0, 1.0)], first, shape.positions, &mut probs);
        mean.resize(probs.len(), 0.0);
        for (total, prob) in std::iter::zip(&mut mean, &probs) {
            *total += prob;
            entropies += surprise(*prob);
        }
    }
    let prompts = shape.prompts as f64;
    mean.iter().map(|total| surprise(total / prompts)).sum::<f64>() - entropies / prompts
}

/// `-p ln p`.
fn surprise(prob: f64) -> f64 {
    if prob > 0.0 { -prob * prob.ln() } else { 0.0 }
}

/// The responses to one prompt.
#[derive(Clone, Copy)]
struct Tree<'a> {
    graph: &'a StateGraph,
    /// `[states, actions]`.
    policy: &'a [f64],
    actions: usize,
}

impl Tree<'_> {
    /// Appends the probabilities of the responses that go on with `action`, in the order of their actions. `here` has the states
    /// that the tokens before may have led to, each with the probability of them and of the state; `left` tokens are to come.
    fn write_action(self, here: &[(usize, f64)], action: usize, left: usize, probs: &mut Vec<f64>) {
        let leaving = here
            .iter()
            .map(|&(state, prob)| (state, prob * self.policy[state * self.actions + action]));
        if left == 1 {
            probs.push(leaving.map(|(_, prob)| prob).sum());
            return;
        }
        let mut next: Vec<(usize, f64)> = vec![];
        for (state, prob) in leaving {
            for &(arrival, arriving) in self.graph.arrivals(state, action) {
                match next.iter_mut().find(|(known, _)| *known == arrival) {
                    Some((_, total)) => *total += prob * arriving,
                    None => next.push((arrival, prob * arriving)),
                }
            }
        }
        for action in 0..self.actions {
            self.write_action(&next, action, left - 1, probs);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Parameters, Shape, TabularSetting, remembering};
    use crate::training::{Method, Schedule, Trainer};

    fn questions(prompts: usize, positions: usize, actions: usize) -> Questions {
        let shape = Shape { prompts, positions, actions };
        Questions::new(shape, vec![1.0; shape.table()], Parameters::Logits).unwrap()
    }

    /// One token, each prompt with its own letter in three of four answers: `ln 2 - H(1/4)`, and twice that of two such tokens
    /// whose letters are drawn for four prompts.
    #[test]
    fn binary_channels_have_their_closed_form() {
        let (high, low) = (0.75f64.ln(), 0.25f64.ln());
        let expected = 2.0f64.ln() + 0.75 * high + 0.25 * low;
        let one = prompt_information(&questions(2, 1, 2), &[high, low, low, high]).unwrap();
        assert!((one - expected).abs() < 1e-15, "{one}");
        let (zero, one) = ([high, low], [low, high]);
        let logits = [zero, zero, zero, one, one, zero, one, one];
        let two = prompt_information(&questions(4, 2, 2), logits.as_flattened()).unwrap();
        assert!((two - 2.0 * expected).abs() < 1e-14, "{two}");
        let same = prompt_information(&questions(2, 2, 2), &[high; 8]).unwrap();
        assert!(same < 1e-15, "{same}");
        assert_eq!(prompt_information(&questions(2, 32, 2), &[0.0; 128]), None);
    }

    /// States that remember a changed token: the probability of three actions sums over the states between them, and two of these
    /// lead to each of the last ones.
    #[test]
    fn noise_between_tokens_is_summed_over() {
        let graph = remembering(3, 2, 1, 0.4);
        let questions = questions(2, 5, 2).with_states(graph).unwrap();
        let logits: Vec<f64> = (0..20).map(|index| f64::from(index).sin()).collect();
        let policy = Rows::of(&questions, &logits, &[0, 1]);
        let prob = |prompt: usize, state: usize, action: usize| {
            policy.probs()[prompt * 10 + state * 2 + action]
        };
        // After `last`, in a state of the position whose states begin at `first`.
        let behind = |prompt: usize, first: usize, last: usize, action: usize| {
            let kept = 0.8 * prob(prompt, first + last, action);
            kept + 0.2 * prob(prompt, first + 1 - last, action)
        };
        let joint = |prompt: usize, [first, second, third]: [usize; 3]| {
            let second_prob = behind(prompt, 1, first, second);
            prob(prompt, 0, first) * second_prob * behind(prompt, 3, second, third)
        };
        let mut expected = 0.0;
        for response in (0..8).map(|index| [index / 4, index / 2 % 2, index % 2]) {
            let each = [joint(0, response), joint(1, response)];
            let mean = f64::midpoint(each[0], each[1]);
            expected += each.iter().map(|p| 0.5 * p * (p / mean).ln()).sum::<f64>();
        }
        let computed = prompt_information(&questions, &logits).unwrap();
        assert!((computed - expected).abs() < 1e-15, "{computed} {expected}");
    }

    /// The estimate that a trainer can take, from responses scored under every prompt, comes to it within its error.
    #[test]
    fn cross_scores_of_responses_estimate_it() {
        let environment =
            TabularSetting { prompts: 8, positions: 2, actions: 4, ..TabularSetting::CONTROL }
                .draw(4);
        let schedule = Schedule { group_size: 2000, mini_batches: 1, ..Schedule::on_policy(1e-9) };
        let mut trainer = Trainer::new(&environment, Method::default(), schedule, 1);
        trainer.step().unwrap();
        let (rollout, start) = (trainer.rollout(), environment.start());
        let rows = Rows::of(environment.training(), start, &(0..8).collect::<Vec<_>>());
        let (mut scores, mut own_prompts) = (vec![], vec![]);
        for (index, response) in rollout.actions.chunks_exact(2).enumerate() {
            own_prompts.push(rollout.prompts[index / 2000]);
            scores.extend((0..8).map(|prompt| {
                let place =
                    |position: usize| (prompt * 2 + position) * 4 + response[position] as usize;
                rows.log_probs()[place(0)] + rows.log_probs()[place(1)]
            }));
        }
        let estimate =
            entropy_core::prompt_information(&scores, &own_prompts, 8).unwrap().mutual_information;
        let exact = prompt_information(environment.training(), start).unwrap();
        assert!(exact > 0.05, "{exact}");
        // A term lies within about two nats of the mean, and 16,000 are averaged: five standard errors are below 0.08.
        assert!((estimate - exact).abs() < 0.08_f64.min(0.2 * exact), "{estimate} {exact}");
    }
}
