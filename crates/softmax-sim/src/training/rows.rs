//! Softmax over the rows of a table of logits, in place.

use crate::environment::{Questions, Shape};
use entropy_core::kernel::short_row;
use rayon::prelude::*;

/// Prompts a thread takes at a time; results do not depend on it.
pub(crate) const PROMPTS_PER_TASK: usize = 32;

/// The policy on a list of prompts: tables `[prompts given, positions, actions]`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rows {
    log_probs: Vec<f64>,
    probs: Vec<f64>,
    entropy: Vec<f64>,
}

impl Rows {
    /// The policy of `parameters` on `prompts`.
    pub fn of(questions: &Questions, parameters: &[f64], prompts: &[usize]) -> Self {
        let mut rows = Self::default();
        rows.fill(questions, parameters, prompts);
        rows
    }

    /// Replaces the contents, without allocating where the last call was as large.
    pub fn fill(&mut self, questions: &Questions, parameters: &[f64], prompts: &[usize]) {
        let Shape { positions, actions, .. } = questions.shape();
        let row = positions * actions;
        self.log_probs.resize(prompts.len() * row, 0.0);
        self.probs.resize(prompts.len() * row, 0.0);
        self.entropy.resize(prompts.len() * positions, 0.0);
        prompts
            .par_iter()
            .zip(self.log_probs.par_chunks_exact_mut(row))
            .zip(self.probs.par_chunks_exact_mut(row))
            .zip(self.entropy.par_chunks_exact_mut(positions))
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
    }

    /// Log-probabilities in nats, `[prompts given, positions, actions]`.
    pub fn log_probs(&self) -> &[f64] {
        &self.log_probs
    }

    /// Probabilities, `[prompts given, positions, actions]`.
    pub fn probs(&self) -> &[f64] {
        &self.probs
    }

    /// Entropy of each state in nats, `[prompts given, positions]`.
    pub fn entropy(&self) -> &[f64] {
        &self.entropy
    }

    /// Entropy where each token of a rollout is drawn, in nats, `[prompts given, samples, positions]`,
    /// into `entropy`.
    pub(crate) fn entropy_of_tokens(
        &self,
        positions: usize,
        group_size: usize,
        entropy: &mut Vec<f64>,
    ) {
        entropy.clear();
        for states in self.entropy.chunks_exact(positions) {
            for _ in 0..group_size {
                entropy.extend_from_slice(states);
            }
        }
    }

    /// Mean entropy over the states, in nats.
    pub fn mean_entropy(&self) -> f64 {
        self.entropy.iter().sum::<f64>() / self.entropy.len() as f64
    }
}
