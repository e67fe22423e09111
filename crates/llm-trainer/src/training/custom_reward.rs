//! A custom reward in place of `reward.values`.

use std::fmt;
use std::sync::Arc;

use question_data::dataset::Question;
use reward_math::Verdict;

/// A response as a custom reward sees it.
#[derive(Debug, Clone, Copy)]
pub struct RewardInput<'a> {
    /// The question, with its known answer.
    pub question: &'a Question,
    /// The response as text, up to a stop string.
    pub response: &'a str,
    /// The verifier's verdict.
    pub verdict: &'a Verdict,
    /// Number of response tokens, including the end-of-sequence token.
    pub tokens: usize,
    /// True if the response was truncated at the length limit.
    pub truncated: bool,
}

/// Rewards of a batch of responses, in their order.
type OfBatch = dyn Fn(&[RewardInput<'_>]) -> anyhow::Result<Vec<f64>> + Send + Sync;

/// A custom reward of responses, in reward units; the penalty of `reward.overlong` is added to it.
///
/// It is asked once for all responses that a process has sampled, in their order, on one thread. It must be deterministic on every
/// rank: otherwise a run can neither be repeated nor resumed.
#[derive(Clone)]
pub struct CustomReward(Arc<OfBatch>);

impl CustomReward {
    /// Wraps a reward function of a single response.
    pub fn new(reward: impl Fn(RewardInput<'_>) -> f64 + Send + Sync + 'static) -> Self {
        Self::of_batches(move |batch| Ok(batch.iter().map(|&one| reward(one)).collect()))
    }

    /// Wraps a reward function of all responses of a batch: one number each, in their order. An error ends the run.
    pub fn of_batches(
        reward: impl Fn(&[RewardInput<'_>]) -> anyhow::Result<Vec<f64>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(reward))
    }

    /// Computes the rewards of a batch. Fails unless the function returns one finite number a response.
    pub(super) fn of(&self, batch: &[RewardInput<'_>]) -> anyhow::Result<Vec<f64>> {
        let rewards = (self.0)(batch)?;
        let (count, expected) = (rewards.len(), batch.len());
        anyhow::ensure!(count == expected, "{count} rewards of {expected} responses");
        for (reward, input) in std::iter::zip(&rewards, batch) {
            anyhow::ensure!(
                reward.is_finite(),
                "question {}: the reward of a response is {reward}, expected a finite number",
                input.question.id
            );
        }
        Ok(rewards)
    }
}

impl fmt::Debug for CustomReward {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CustomReward")
    }
}
