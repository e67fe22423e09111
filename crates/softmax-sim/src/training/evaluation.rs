//! Exact figures of a policy: sums over states, no sampling.

use super::curve::CurvePoint;
use super::rows::{PROMPTS_PER_TASK, Rows};
use crate::environment::{Environment, Questions};
use rayon::prelude::*;

/// Temperature of the cool reward: the paper evaluates at it.
pub const COOL_TEMPERATURE: f64 = 0.6;

/// Evaluates `parameters`, trained on so many `rollouts`: entropy on the training questions, rewards on those examined.
pub fn evaluate(environment: &Environment, parameters: &[f64], rollouts: usize) -> CurvePoint {
    let all = |questions: &Questions| -> Vec<usize> { (0..questions.shape().prompts).collect() };
    let training = &environment.training;
    let policy = Rows::of(training, parameters, &all(training));
    let entropy = policy.mean_entropy(training);
    let examined = environment.examined();
    let policy = match &environment.validation {
        None => policy,
        Some(validation) => Rows::of(validation, parameters, &all(validation)),
    };
    let (row, actions) = (examined.row(), examined.shape().actions);
    // At temperature 1, cool and greedy.
    let per_prompt: Vec<[f64; 3]> = policy
        .log_probs()
        .par_chunks_exact(row)
        .zip(policy.probs().par_chunks_exact(row))
        .enumerate()
        .with_min_len(PROMPTS_PER_TASK)
        .map(|(prompt, (log_probs, probs))| {
            let cool: Vec<f64> = log_probs.iter().map(|x| (x / COOL_TEMPERATURE).exp()).collect();
            let total = |state: usize| cool[state * actions..(state + 1) * actions].iter().sum();
            [
                examined.expected_reward(prompt, probs, |_| 1.0),
                examined.expected_reward(prompt, &cool, total),
                greedy_reward(examined, prompt, log_probs),
            ]
        })
        .collect();
    // In the order of the prompts, whatever the number of threads.
    let mean = |index: usize| {
        per_prompt.iter().map(|rewards| rewards[index]).sum::<f64>() / per_prompt.len() as f64
    };
    let [reward, cool_reward, greedy_reward] = [0, 1, 2].map(mean);
    CurvePoint { rollouts, entropy, reward, cool_reward, greedy_reward }
}

/// Expected reward of the response of most probable tokens (the first of several), under a policy of
/// `log_probs`, `[states, actions]`.
pub(crate) fn greedy_reward(questions: &Questions, prompt: usize, log_probs: &[f64]) -> f64 {
    let actions = questions.shape().actions;
    let mut weights = vec![0.0; log_probs.len()];
    for (log_probs, weights) in
        log_probs.chunks_exact(actions).zip(weights.chunks_exact_mut(actions))
    {
        let likelier =
            |mode, action| if log_probs[action] > log_probs[mode] { action } else { mode };
        weights[(1..actions).fold(0, likelier)] = 1.0;
    }
    questions.expected_reward(prompt, &weights, |_| 1.0)
}
