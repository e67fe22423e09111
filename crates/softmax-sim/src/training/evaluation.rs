//! Exact figures of a policy: sums over states, no sampling.

use super::rows::{PROMPTS_PER_TASK, Rows};
use crate::environment::{Environment, Questions, Shape};
use rayon::prelude::*;

/// Temperature of the cool reward: the paper evaluates at it.
pub const COOL_TEMPERATURE: f64 = 0.6;

/// Entropy and expected rewards of a policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evaluation {
    /// Mean entropy of a token on the training questions, in nats.
    pub entropy: f64,
    /// Expected reward of a response sampled at temperature 1, `0..=1`.
    pub reward: f64,
    /// Expected reward of a response sampled at [`COOL_TEMPERATURE`], `0..=1`.
    pub cool_reward: f64,
    /// Expected reward of the response of most probable tokens.
    pub greedy_reward: f64,
}

/// Evaluates `parameters`: entropy on the training questions, rewards on those examined.
pub fn evaluate(environment: &Environment, parameters: &[f64]) -> Evaluation {
    let all = |questions: &Questions| -> Vec<usize> { (0..questions.shape().prompts).collect() };
    let training = &environment.training;
    let policy = Rows::of(training, parameters, &all(training));
    let entropy = policy.mean_entropy();
    let examined = environment.examined();
    let policy = match &environment.validation {
        None => policy,
        Some(validation) => Rows::of(validation, parameters, &all(validation)),
    };
    let row = examined.shape().row();
    let per_prompt: Vec<[f64; 3]> = policy
        .log_probs()
        .par_chunks_exact(row)
        .zip(policy.probs().par_chunks_exact(row))
        .enumerate()
        .with_min_len(PROMPTS_PER_TASK)
        .map(|(prompt, (log_probs, probs))| rewards_of_prompt(examined, prompt, log_probs, probs))
        .collect();
    // In the order of the prompts, whatever the number of threads.
    let mean = |index: usize| {
        per_prompt.iter().map(|rewards| rewards[index]).sum::<f64>() / per_prompt.len() as f64
    };
    Evaluation { entropy, reward: mean(0), cool_reward: mean(1), greedy_reward: mean(2) }
}

/// Reward at temperature 1, cool and greedy: products over the positions.
fn rewards_of_prompt(
    questions: &Questions,
    prompt: usize,
    log_probs: &[f64],
    probs: &[f64],
) -> [f64; 3] {
    let Shape { actions, .. } = questions.shape();
    let states = log_probs.chunks_exact(actions).zip(probs.chunks_exact(actions));
    let mut rewards = [1.0, 1.0, greedy_reward(questions, prompt, log_probs)];
    for ((log_probs, probs), quality) in states.zip(questions.quality(prompt).chunks_exact(actions))
    {
        let expected: f64 = std::iter::zip(probs, quality).map(|(p, q)| p * q).sum();
        let (mut total, mut cool) = (0.0, 0.0);
        for (log_prob, quality) in std::iter::zip(log_probs, quality) {
            let weight = (log_prob / COOL_TEMPERATURE).exp();
            total += weight;
            cool += weight * quality;
        }
        rewards[0] *= expected;
        rewards[1] *= cool / total;
    }
    rewards
}

/// Expected reward of the response of most probable tokens (the first of several), under a policy of
/// `log_probs`, `[positions, actions]`.
pub(crate) fn greedy_reward(questions: &Questions, prompt: usize, log_probs: &[f64]) -> f64 {
    let actions = questions.shape().actions;
    let states =
        log_probs.chunks_exact(actions).zip(questions.quality(prompt).chunks_exact(actions));
    states
        .map(|(log_probs, quality)| {
            let likelier =
                |mode, action| if log_probs[action] > log_probs[mode] { action } else { mode };
            quality[(1..actions).fold(0, likelier)]
        })
        .product()
}
