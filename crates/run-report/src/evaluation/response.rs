//! One response to one problem, with its verdict.

use question_data::ground_truth::GroundTruth;
use reward_math::Verdict;
use serde::{Deserialize, Serialize};

/// One response; a line of `samples/SET.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// Index of the problem in its set.
    pub problem: usize,
    /// Name of the problem.
    pub id: String,
    /// Index of the response among those to its problem.
    pub sample: usize,
    /// The known answer.
    pub ground_truth: String,
    /// The answer in the response, as written; `None` if there is none.
    pub answer: Option<String>,
    /// The answer in normal form; `None` if it cannot be read. Two responses vote for the same answer if it is equal, or if both
    /// are right.
    pub normal_form: Option<String>,
    /// Verdict of the verifier.
    pub verdict: Verdict,
    /// True if it was cut at the longest length.
    pub truncated: bool,
    /// Length in tokens, the end-of-sequence token included.
    pub tokens: usize,
    /// Mean over its tokens of the entropy of the distribution each was drawn from, in nats.
    pub entropy: f64,
    /// Mean over its tokens of `-log π(y_t)` under that distribution, in nats.
    pub surprise: f64,
    /// The response, up to a stop string.
    pub text: String,
}

/// Verdict on a response, and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct GradedAnswer {
    /// Verdict of the verifier.
    pub verdict: Verdict,
    /// The answer, as written.
    pub answer: Option<String>,
    /// The answer in normal form; `None` if it cannot be read.
    pub normal_form: Option<String>,
}

impl Response {
    /// True if the verifier judged it right.
    pub fn is_right(&self) -> bool {
        self.verdict.is_right()
    }

    /// True if it has an answer that can be read.
    pub fn is_extracted(&self) -> bool {
        !matches!(self.verdict, Verdict::Unparsed { .. })
    }
}

/// Judges a response, and extracts the answer that it votes for.
pub fn judge(truth: &GroundTruth, text: &str) -> GradedAnswer {
    let verdict = truth.verify(text);
    let answer = truth.answer_in(text);
    let readable = !matches!(verdict, Verdict::Unparsed { .. });
    let normal_form = answer.as_deref().filter(|_| readable).map(|a| truth.normal_form(a));
    GradedAnswer { verdict, answer, normal_form }
}
