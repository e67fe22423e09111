//! A reward of one's own in place of `reward.values`.

use std::fmt;
use std::sync::Arc;

use question_data::dataset::Question;
use reward_math::Verdict;

/// A response as a reward of one's own sees it.
#[derive(Debug, Clone, Copy)]
pub struct Judged<'a> {
    /// What was asked, with its known answer.
    pub question: &'a Question,
    /// The response as text, up to a stop string.
    pub response: &'a str,
    /// What the verifier says of it.
    pub verdict: &'a Verdict,
    /// Its length, its end-of-sequence token included.
    pub tokens: usize,
    /// Whether it was cut at the length limit.
    pub truncated: bool,
}

/// What a response is worth, in reward units, by a function of it alone; what `reward.overlong` takes off comes on top.
///
/// The function is called once a response, in the order of the responses, on one thread; it must give every rank and every
/// repetition the same number, or a run can neither be repeated nor resumed.
#[derive(Clone)]
pub struct OwnReward(Arc<dyn Fn(Judged<'_>) -> f64 + Send + Sync>);

impl OwnReward {
    /// Takes the function.
    pub fn new(reward: impl Fn(Judged<'_>) -> f64 + Send + Sync + 'static) -> Self {
        Self(Arc::new(reward))
    }

    /// What a response is worth.
    ///
    /// # Errors
    ///
    /// If that is not a finite number.
    pub(super) fn of(&self, judged: Judged<'_>) -> anyhow::Result<f64> {
        let reward = (self.0)(judged);
        anyhow::ensure!(
            reward.is_finite(),
            "question {}: the reward of a response is {reward}, expected a finite number",
            judged.question.id
        );
        Ok(reward)
    }
}

impl fmt::Debug for OwnReward {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OwnReward")
    }
}
