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

/// A custom reward function of a single response, in reward units; the penalty of `reward.overlong` is added to it.
///
/// The function is called once per response, in the order of the responses, on one thread. It must be deterministic on every
/// rank: otherwise a run can neither be repeated nor resumed.
#[derive(Clone)]
pub struct CustomReward(Arc<dyn Fn(RewardInput<'_>) -> f64 + Send + Sync>);

impl CustomReward {
    /// Wraps a reward function.
    pub fn new(reward: impl Fn(RewardInput<'_>) -> f64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(reward))
    }

    /// Computes the reward of a response.
    ///
    /// # Errors
    ///
    /// If the reward is not a finite number.
    pub(super) fn of(&self, judged: RewardInput<'_>) -> anyhow::Result<f64> {
        let reward = (self.0)(judged);
        anyhow::ensure!(
            reward.is_finite(),
            "question {}: the reward of a response is {reward}, expected a finite number",
            judged.question.id
        );
        Ok(reward)
    }
}

impl fmt::Debug for CustomReward {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CustomReward")
    }
}
