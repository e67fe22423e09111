//! Softmax over the rows of a table of logits, in place.

use super::tokens::Tokens;
use crate::environment::Questions;
use entropy_core::kernel::short_row;
use rayon::prelude::*;
use std::iter::zip;

/// Prompts a thread takes at a time; results do not depend on it.
pub(crate) const PROMPTS_PER_TASK: usize = 32;

/// The policy on a list of prompts: tables `[prompts given, states, actions]`; a state is a position unless the environment
/// says otherwise.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    log_probs: Vec<f64>,
    probs: Vec<f64>,
    entropy: Vec<f64>,
    states_of_prompt: usize,
}

impl Rows {
    /// The policy of `parameters` on `prompts`.
    pub fn of(questions: &Questions, parameters: &[f64], prompts: &[usize]) -> Self {
        let (states_of_prompt, actions) = questions.states_and_actions();
        let row = questions.row();
        let mut log_probs = vec![0.0; prompts.len() * row];
        let mut probs = vec![0.0; prompts.len() * row];
        let mut entropy = vec![0.0; prompts.len() * states_of_prompt];
        prompts
            .par_iter()
            .zip(log_probs.par_chunks_exact_mut(row))
            .zip(probs.par_chunks_exact_mut(row))
            .zip(entropy.par_chunks_exact_mut(states_of_prompt))
            .with_min_len(PROMPTS_PER_TASK)
            .for_each(|(((&prompt, log_probs), probs), entropy)| {
                questions.write_logits(parameters, prompt, log_probs);
                let states = log_probs.chunks_exact_mut(actions);
                for ((log_probs, probs), entropy) in
                    states.zip(probs.chunks_exact_mut(actions)).zip(entropy)
                {
                    *entropy = short_row::log_softmax_in_place(log_probs, probs);
                }
            });
        Self { log_probs, probs, entropy, states_of_prompt }
    }

    /// Log-probabilities in nats, `[prompts given, states, actions]`.
    pub fn log_probs(&self) -> &[f64] {
        &self.log_probs
    }

    /// Probabilities, `[prompts given, states, actions]`.
    pub fn probs(&self) -> &[f64] {
        &self.probs
    }

    /// Entropy of each state in nats, `[prompts given, states]`.
    pub fn entropy(&self) -> &[f64] {
        &self.entropy
    }

    /// Entropy where each of `tokens` was drawn, in nats, `[tokens]`.
    pub(crate) fn entropy_of_tokens(&self, tokens: Tokens<'_>) -> Vec<f64> {
        tokens.places(self.states_of_prompt).map(|(state, _)| self.entropy[state]).collect()
    }

    /// Log-probability of each of `tokens`, in nats, `[tokens]`.
    pub(crate) fn log_prob_of_tokens(&self, tokens: Tokens<'_>) -> Vec<f64> {
        let actions = self.log_probs.len() / self.entropy.len();
        let places = tokens.places(self.states_of_prompt);
        places.map(|(state, action)| self.log_probs[state * actions + action]).collect()
    }

    /// Expected visits of each state by a response, `[prompts given, states]`: 1 where states are positions.
    pub fn visits(&self, questions: &Questions) -> Vec<f64> {
        let actions = questions.shape().actions;
        let of_prompt = |probs: &[f64]| {
            questions.states().visits(|state, action| probs[state * actions + action])
        };
        self.probs.chunks_exact(questions.row()).flat_map(of_prompt).collect()
    }

    /// `Σ_s w_s KL(π_s ‖ π'_s)`, in nats. `weights` are `[prompts given, states]`; `other` are the log-probabilities of `π'`.
    pub(super) fn divergence<'a>(
        &self,
        other: impl IntoIterator<Item = &'a f64>,
        weights: &[f64],
    ) -> f64 {
        let actions = self.probs.len() / weights.len();
        let columns = zip(&self.probs, zip(&self.log_probs, other)).enumerate();
        let possible = columns.filter(|(_, (prob, _))| **prob > 0.0);
        let term = |(place, (prob, (log_prob, other))): (usize, (&f64, (&f64, &f64)))| {
            weights[place / actions] * prob * (log_prob - other)
        };
        possible.map(term).fold(0.0, |sum, term| sum + term)
    }

    /// Mean entropy of a token over the states as they are visited, in nats.
    pub fn mean_entropy(&self, questions: &Questions) -> f64 {
        let prompts = self.probs.len() / questions.row();
        let visited = zip(&self.entropy, self.visits(questions));
        let sum: f64 = visited.map(|(entropy, visits)| visits * entropy).sum();
        sum / (prompts * questions.shape().positions) as f64
    }
    /// Gradient with respect to the logits of what has `slopes`, its derivatives by the tokens' log-probabilities, `[tokens]`:
    /// `[prompts given, states, actions]`.
    ///
    /// A token's `∂L/∂log π(y)` reaches logit `k` times `1[k = y] - π_k`; the parts with `π_k` are
    /// collected first.
    pub(super) fn d_logits(
        &self,
        questions: &Questions,
        tokens: Tokens<'_>,
        slopes: &[f64],
    ) -> Vec<f64> {
        let (states, actions) = questions.states_and_actions();
        let (row, per_prompt) = (questions.row(), tokens.per_prompt);
        let mut d_logits = vec![0.0; tokens.actions.len() / per_prompt * row];
        d_logits
            .par_chunks_exact_mut(row)
            .zip(tokens.actions.par_chunks_exact(per_prompt))
            .zip(tokens.states.par_chunks_exact(per_prompt))
            .zip(slopes.par_chunks_exact(per_prompt))
            .zip(self.probs.par_chunks_exact(row))
            .with_min_len(PROMPTS_PER_TASK)
            .for_each_init(
                || vec![0.0; states],
                |totals, ((((d_logits, chosen), states_visited), slopes), probs)| {
                    totals.fill(0.0);
                    for ((action, state), slope) in zip(zip(chosen, states_visited), slopes) {
                        d_logits[*state as usize * actions + *action as usize] += slope;
                        totals[*state as usize] += slope;
                    }
                    let each = d_logits.chunks_exact_mut(actions).zip(probs.chunks_exact(actions));
                    for ((d_logits, probs), total) in each.zip(totals.iter()) {
                        for (d_logit, prob) in d_logits.iter_mut().zip(probs) {
                            *d_logit -= total * prob;
                        }
                    }
                },
            );
        d_logits
    }
}
