//! The responses of one optimiser step: made up, or read from rollouts that `llm-trainer` saved.

use entropy_core::Categorical;
use messages::plain_words;
use ndarray_rand::rand_distr::StandardNormal;
use rand::distr::{Distribution, weighted::WeightedIndex};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_losses::{GroupNormalisation, group_relative_advantages};
use serde::Deserialize;
use std::fmt::Display;
use std::io::BufRead;
use thiserror::Error;

/// Why there is no comparison.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct MiniBatchError(String);

impl MiniBatchError {
    pub(super) fn of(error: impl Display) -> Self {
        Self(error.to_string())
    }
}

/// The tokens of one mini-batch with GRPO's advantages, response after response, group after group.
#[derive(Debug, Clone, PartialEq)]
pub struct MiniBatch {
    /// Log-probability of each token as sampled, in nats, `[tokens]`.
    pub log_prob: Vec<f64>,
    /// Advantage of each token, in units of the group's standard deviation, `[tokens]`.
    pub advantage: Vec<f64>,
    /// Tokens of each response, `[responses]`.
    pub lengths: Vec<usize>,
}

/// Size of a made-up mini-batch, as arguments give it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct MadeUp {
    /// Number of prompts of a made-up mini-batch
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub groups: usize,
    /// Number of responses to each prompt
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub group_size: usize,
    /// Number of tokens of each response
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub tokens: usize,
    /// Seed of a made-up mini-batch
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub seed: u64,
}

/// Actions of a made-up policy.
const ACTIONS: usize = 32;

/// Fraction of the tokens that are open, as forks in a text are.
const FORKS: f64 = 0.1;

/// Standard deviation of the logits of a token that is no fork, in nats: nearly deterministic.
const CERTAIN: f64 = 16.0;

/// Largest standard deviation of the logits of a fork, in nats.
const OPEN: f64 = 4.0;

impl MadeUp {
    /// Samples the mini-batch.
    ///
    /// Each token comes from a softmax policy of its own: one in ten is open, the others are almost certain. Each prompt has a
    /// probability of a correct response, uniform in `0..1`; a correct response earns 1, another 0.
    ///
    /// # Errors
    ///
    /// [`MiniBatchError`] if there is no response.
    pub fn sample(&self) -> Result<MiniBatch, MiniBatchError> {
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let rewards: Vec<Vec<f64>> = (0..self.groups)
            .map(|_| {
                let accuracy: f64 = rng.random();
                (0..self.group_size)
                    .map(|_| f64::from(u8::from(rng.random::<f64>() < accuracy)))
                    .collect()
            })
            .collect();
        let mut response = || (0..self.tokens).map(|_| drawn_log_prob(&mut rng)).collect();
        let log_probs: Vec<_> = (0..self.groups * self.group_size).map(|_| response()).collect();
        MiniBatch::new(&rewards, &log_probs)
    }
}

/// Log-probability, in nats, of an action drawn from a policy of random spread.
fn drawn_log_prob(rng: &mut ChaCha8Rng) -> f64 {
    let is_fork = rng.random::<f64>() < FORKS;
    let spread = if is_fork { OPEN * rng.random::<f64>() } else { CERTAIN };
    let mut logit = || spread * rng.sample::<f64, _>(StandardNormal);
    let logits: Vec<f64> = (0..ACTIONS).map(|_| logit()).collect();
    let policy = Categorical::from_logits(&logits).expect("finite logits");
    let action = WeightedIndex::new(policy.probs()).expect("probabilities").sample(rng);
    policy.log_probs()[action]
}

/// A line of saved rollouts that holds a group; other lines have no rewards.
#[derive(Deserialize)]
struct SavedGroup {
    rewards: Vec<f64>,
    responses: SavedResponses,
}

#[derive(Deserialize)]
struct SavedResponses {
    samples: Vec<SavedSample>,
}

#[derive(Deserialize)]
struct SavedSample {
    rollout_log_prob: Vec<f64>,
}

impl MiniBatch {
    fn new(rewards: &[Vec<f64>], log_probs: &[Vec<f64>]) -> Result<Self, MiniBatchError> {
        let sizes: Vec<usize> = rewards.iter().map(Vec::len).collect();
        let normalisation = GroupNormalisation::StandardDeviation;
        let advantages = group_relative_advantages(&rewards.concat(), &sizes, normalisation)
            .map_err(MiniBatchError::of)?;
        let lengths: Vec<usize> = log_probs.iter().map(Vec::len).collect();
        let of_tokens = |(advantage, length): (&f64, &usize)| vec![*advantage; *length];
        let advantage = advantages.iter().zip(&lengths).flat_map(of_tokens).collect();
        Ok(Self { log_prob: log_probs.concat(), advantage, lengths })
    }

    /// Reads the groups of one step that `llm-trainer train --save-rollouts` wrote, `step-N.jsonl`. The log-probabilities are
    /// those of the sampler, the advantages GRPO's of the rewards.
    ///
    /// # Errors
    ///
    /// [`MiniBatchError`], naming the line.
    pub fn read(from: impl BufRead) -> Result<Self, MiniBatchError> {
        let (mut rewards, mut log_probs) = (Vec::new(), Vec::new());
        for (index, line) in from.lines().enumerate() {
            let line = line.map_err(|error| MiniBatchError(format!("cannot read: {error}")))?;
            let fault = |message| {
                let expected = "expected a group as `llm-trainer train --save-rollouts` writes it";
                MiniBatchError(format!("line {}: {message}; {expected}", index + 1))
            };
            let value: serde_json::Value =
                serde_json::from_str(&line).map_err(|error| fault(error.to_string()))?;
            if value.get("rewards").is_none() {
                continue; // The header, or the groups that wait.
            }
            let group: SavedGroup = serde_json::from_value(value)
                .map_err(|error| fault(plain_words(&error.to_string())))?;
            let (count, samples) = (group.rewards.len(), group.responses.samples);
            if count != samples.len() {
                let message = format!("{count} rewards for {} responses", samples.len());
                return Err(fault(message));
            }
            rewards.push(group.rewards);
            log_probs.extend(samples.into_iter().map(|sample| sample.rollout_log_prob));
        }
        if rewards.is_empty() {
            let expected = "expected `step-N.jsonl` of `llm-trainer train --save-rollouts`";
            return Err(MiniBatchError(format!("no group of responses: {expected}")));
        }
        Self::new(&rewards, &log_probs)
    }
}
