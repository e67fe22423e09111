//! Sampled responses and their rewards.

use super::rows::{PROMPTS_PER_TASK, Rows};
use super::tokens::Tokens;
use crate::environment::{Questions, inverse_cumulative};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use rl_losses::{KlEstimator, informative_groups, kl_rewards};

/// The responses of one rollout batch, laid end to end: prompt by prompt, sample by sample.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rollout {
    /// The prompts, `[prompts]`.
    pub prompts: Vec<usize>,
    /// Action of each token, `[prompts, samples, positions]`.
    pub actions: Vec<u32>,
    /// State of its prompt that each token was drawn in, `[prompts, samples, positions]`: its position unless the environment
    /// has other states.
    pub states: Vec<u32>,
    /// Log-probability of each token under the policy that sampled it, in nats, `[prompts, samples, positions]`.
    pub sampled_log_prob: Vec<f64>,
    /// Log-probability of each token that ratios are taken to, in nats, `[prompts, samples, positions]`: as it was sampled, or
    /// for a stale rollout as the schedule says.
    pub old_log_prob: Vec<f64>,
    pub(crate) old_entropy: Vec<f64>,
    /// Reward of each response, 0 or 1, `[prompts, samples]`.
    pub rewards: Vec<f64>,
    /// Advantage of each token, `[prompts, samples, positions]`.
    pub advantage: Vec<f64>,
}

impl Rollout {
    pub(crate) fn tokens(&self) -> Tokens<'_> {
        let per_prompt = self.actions.len() / self.prompts.len().max(1);
        Tokens { states: &self.states, actions: &self.actions, per_prompt }
    }

    /// Takes log-probabilities and entropies of `policy` as those before the update; those sampled stay.
    pub(crate) fn take_old(&mut self, policy: &Rows) {
        self.old_log_prob = policy.log_prob_of_tokens(self.tokens());
        self.old_entropy = policy.entropy_of_tokens(self.tokens());
    }

    /// Reward of each token less `coefficient` times its log-ratio to the reference, `[tokens]`. `reference` has log-probabilities
    /// of all prompts, `[all prompts, states, actions]`.
    pub(super) fn penalised_rewards(
        &self,
        questions: &Questions,
        reference: &[f64],
        coefficient: f64,
    ) -> Vec<f64> {
        let sizes = questions.states_and_actions();
        let reference: Vec<f64> =
            self.tokens().values_in(reference, &self.prompts, sizes).collect();
        let rewards = self.token_rewards(questions.shape().positions);
        let (estimator, log_prob) = (KlEstimator::K1, &self.old_log_prob);
        let penalised = kl_rewards(estimator, coefficient, &rewards, log_prob, &reference);
        penalised.expect("columns of finite policies, a coefficient in its range")
    }

    /// Reward of each token, `[tokens]`: that of its response at the last one.
    pub(super) fn token_rewards(&self, positions: usize) -> Vec<f64> {
        let mut rewards = vec![0.0; self.actions.len()];
        for (tokens, reward) in rewards.chunks_exact_mut(positions).zip(&self.rewards) {
            tokens[positions - 1] = *reward;
        }
        rewards
    }

    /// Keeps the groups with something to learn from.
    pub(super) fn retain(&mut self, group_size: usize, positions: usize) {
        let sizes = vec![group_size; self.prompts.len()];
        let kept = informative_groups(&self.rewards, &sizes);
        keep(&mut self.prompts, &kept, 1);
        keep(&mut self.rewards, &kept, group_size);
        keep(&mut self.actions, &kept, group_size * positions);
        keep(&mut self.states, &kept, group_size * positions);
        let Self { sampled_log_prob, old_log_prob, old_entropy, advantage, .. } = self;
        for column in [sampled_log_prob, old_log_prob, old_entropy, advantage] {
            keep(column, &kept, group_size * positions);
        }
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
        let tokens = group_size * questions.shape().positions;
        let prompts = self.prompts.len();
        self.actions.resize(prompts * tokens, 0);
        self.states.resize(prompts * tokens, 0);
        self.rewards.resize(prompts * group_size, 0.0);
        self.prompts
            .par_iter()
            .zip(policy.probs().par_chunks_exact(questions.row()))
            .zip(self.actions.par_chunks_exact_mut(tokens))
            .zip(self.states.par_chunks_exact_mut(tokens))
            .zip(self.rewards.par_chunks_exact_mut(group_size))
            .with_min_len(PROMPTS_PER_TASK)
            .for_each(|((((&prompt, probs), chosen), states), rewards)| {
                let mut rng = key.clone();
                rng.set_stream(prompt as u64);
                sample_prompt(questions, prompt, probs, (chosen, states, rewards), &mut rng);
            });
        self.take_old(policy);
        self.sampled_log_prob.clone_from(&self.old_log_prob);
    }
}

/// Keeps the runs of `length` values whose group is kept.
fn keep<T>(values: &mut Vec<T>, kept: &[bool], length: usize) {
    let mut index = 0;
    values.retain(|_| {
        index += 1;
        kept[(index - 1) / length]
    });
}

/// Samples the responses to one prompt: action and state of each token, and the rewards.
fn sample_prompt(
    questions: &Questions,
    prompt: usize,
    probs: &[f64],
    (chosen, states, rewards): (&mut [u32], &mut [u32], &mut [f64]),
    rng: &mut ChaCha8Rng,
) {
    let (positions, actions) = (questions.shape().positions, questions.shape().actions);
    let quality = questions.quality(prompt);
    let small = |index: usize| u32::try_from(index).expect("few actions and states");
    let samples = chosen.chunks_exact_mut(positions).zip(states.chunks_exact_mut(positions));
    for ((chosen, states), reward) in samples.zip(rewards) {
        let (mut right, mut state) = (1.0, 0);
        for (chosen, place) in chosen.iter_mut().zip(states) {
            let begin = state * actions;
            let action = inverse_cumulative(&probs[begin..begin + actions], rng.random());
            right *= quality[begin + action];
            (*chosen, *place) = (small(action), small(state));
            state = match questions.states().arrivals(state, action) {
                [] => state,
                [(arrival, _)] => *arrival,
                arrivals => {
                    let probs: Vec<f64> = arrivals.iter().map(|(_, prob)| *prob).collect();
                    arrivals[inverse_cumulative(&probs, rng.random())].0
                }
            };
        }
        *reward = f64::from(u8::from(rng.random::<f64>() < right));
    }
}

/// The generator that all streams of one rollout are made of.
pub(crate) fn rollout_key(seed: u64, rollout: usize) -> ChaCha8Rng {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    bytes[8..16].copy_from_slice(&(rollout as u64).to_le_bytes());
    ChaCha8Rng::from_seed(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::TabularSetting;
    use std::ops::Range;

    /// Two groups of two responses of two tokens: every column numbered in order, the second group alone has both rewards.
    #[test]
    fn what_is_left_of_a_rollout_is_that_of_the_groups_kept() {
        let rollout = |prompts: Vec<usize>, tokens: Range<u32>, rewards: Vec<f64>| {
            let column: Vec<f64> = tokens.clone().map(f64::from).collect();
            Rollout {
                prompts,
                actions: tokens.clone().collect(),
                states: tokens.collect(),
                sampled_log_prob: column.clone(),
                old_log_prob: column.clone(),
                old_entropy: column.clone(),
                rewards,
                advantage: column,
            }
        };
        let mut kept = rollout(vec![5, 7], 0..8, vec![1.0, 1.0, 0.0, 1.0]);
        kept.retain(2, 2);
        assert_eq!(kept, rollout(vec![7], 4..8, vec![0.0, 1.0]));
    }

    /// A policy that the update starts from replaces log-probability and entropy, and leaves those that were sampled.
    #[test]
    fn a_later_policy_replaces_the_old_columns_alone() {
        let setting =
            TabularSetting { prompts: 3, positions: 2, actions: 3, ..TabularSetting::CONTROL };
        let environment = setting.draw(1);
        let questions = environment.training();
        let (start, prompts) = (environment.start(), vec![2, 0]);
        let sampled = Rows::of(questions, start, &prompts);
        let sharper: Vec<f64> = start.iter().map(|logit| 1.5 * logit).collect();
        let now = Rows::of(questions, &sharper, &prompts);
        let mut rollout = Rollout { prompts, ..Rollout::default() };
        rollout.sample(questions, &sampled, 4, &rollout_key(0, 0));
        rollout.take_old(&now);
        for (token, action) in rollout.actions.iter().enumerate() {
            let state = token / 8 * 2 + token % 2;
            let place = state * 3 + *action as usize;
            let columns = [
                (rollout.sampled_log_prob[token], sampled.log_probs()[place]),
                (rollout.old_log_prob[token], now.log_probs()[place]),
                (rollout.old_entropy[token], now.entropy()[state]),
            ];
            for (column, expected) in columns {
                assert_eq!(column.to_bits(), expected.to_bits(), "token {token}");
            }
        }
    }
}
