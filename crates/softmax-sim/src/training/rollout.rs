//! Sampled responses and their rewards.

use super::rows::{PROMPTS_PER_TASK, Rows};
use crate::environment::{Questions, Shape};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// The responses of one rollout batch, laid end to end: prompt by prompt, sample by sample.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rollout {
    pub(crate) prompts: Vec<usize>,
    pub(crate) actions: Vec<u32>,
    pub(crate) old_log_prob: Vec<f64>,
    pub(crate) old_entropy: Vec<f64>,
    pub(crate) rewards: Vec<f64>,
    pub(crate) advantage: Vec<f64>,
}

impl Rollout {
    /// The prompts, `[prompts]`.
    pub fn prompts(&self) -> &[usize] {
        &self.prompts
    }

    /// Action of each token, `[prompts, samples, positions]`.
    pub fn actions(&self) -> &[u32] {
        &self.actions
    }

    /// Log-probability of each token when it was sampled, in nats, `[prompts, samples,
    /// positions]`.
    pub fn old_log_prob(&self) -> &[f64] {
        &self.old_log_prob
    }

    /// Reward of each response, 0 or 1, `[prompts, samples]`.
    pub fn rewards(&self) -> &[f64] {
        &self.rewards
    }

    /// Advantage of each token, `[prompts, samples, positions]`.
    pub fn advantage(&self) -> &[f64] {
        &self.advantage
    }

    /// Samples `group_size` responses to each of `self.prompts` from `policy`, which stands for
    /// the same prompts.
    ///
    /// `key` makes the stream of this rollout; each prompt has its own part of it, and each sample
    /// and position its own place in that.
    pub(crate) fn sample(
        &mut self,
        questions: &Questions,
        policy: &Rows,
        group_size: usize,
        key: &ChaCha8Rng,
    ) {
        let Shape { positions, actions, .. } = questions.shape();
        let (row, tokens) = (positions * actions, group_size * positions);
        let prompts = self.prompts.len();
        self.actions.resize(prompts * tokens, 0);
        self.old_log_prob.resize(prompts * tokens, 0.0);
        self.rewards.resize(prompts * group_size, 0.0);
        policy.entropy_of_tokens(positions, group_size, &mut self.old_entropy);
        self.prompts
            .par_iter()
            .zip(policy.probs().par_chunks_exact(row))
            .zip(policy.log_probs().par_chunks_exact(row))
            .zip(self.actions.par_chunks_exact_mut(tokens))
            .zip(self.old_log_prob.par_chunks_exact_mut(tokens))
            .zip(self.rewards.par_chunks_exact_mut(group_size))
            .with_min_len(PROMPTS_PER_TASK)
            .for_each(|(((((&prompt, probs), log_probs), chosen), old_log_prob), rewards)| {
                let mut rng = key.clone();
                rng.set_stream(prompt as u64);
                let quality = questions.quality(prompt);
                let samples = std::iter::zip(
                    chosen.chunks_exact_mut(positions),
                    old_log_prob.chunks_exact_mut(positions),
                );
                for ((chosen, old_log_prob), reward) in samples.zip(rewards) {
                    let mut right = 1.0;
                    for position in 0..positions {
                        let begin = position * actions;
                        let state = &probs[begin..begin + actions];
                        let action = inverse_cumulative(state, rng.random());
                        right *= quality[begin + action];
                        old_log_prob[position] = log_probs[begin + action];
                        chosen[position] = u32::try_from(action).expect("few actions");
                    }
                    *reward = f64::from(u8::from(rng.random::<f64>() < right));
                }
            });
    }
}

/// The generator that all streams of one rollout are made of.
pub(crate) fn rollout_key(seed: u64, rollout: usize) -> ChaCha8Rng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&(rollout as u64).to_le_bytes());
    ChaCha8Rng::from_seed(bytes)
}

/// The first action whose cumulative probability exceeds `uniform`.
fn inverse_cumulative(probs: &[f64], uniform: f64) -> usize {
    let mut left = uniform;
    for (action, prob) in probs.iter().enumerate() {
        left -= prob;
        if left < 0.0 {
            return action;
        }
    }
    // The probabilities may sum to less than the uniform by rounding: the last possible action.
    probs.iter().rposition(|prob| *prob > 0.0).expect("a policy has a possible action")
}
