//! A sampled response with its reward.

use decoder::routes::RouteShape;
use reward_math::{Side, Verdict};
use serde::{Deserialize, Serialize};

use super::sequence::Sequence;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    pub(crate) sequence: Sequence,
    /// `log π(y_t)` as sampled, in nats; over the sampling mask [`Sequence::mask`] if there is one.
    pub(crate) rollout_log_prob: Vec<f64>,
    /// True if the response was truncated at the length limit.
    pub(crate) truncated: bool,
    /// The response as text, up to a stop string.
    pub(crate) text: String,
    pub(crate) verdict: Verdict,
    pub(crate) reward: f64,
    /// Part of it that is the reward of its length, at most 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) length_reward: f64,
    /// Number of optimiser steps of the weights that drew each token, where servers drew them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) versions: Vec<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Sample {
    /// Returns true if no answer was found in the response.
    pub(crate) fn is_unparsed(&self) -> bool {
        matches!(self.verdict, Verdict::Unparsed { which: Side::Response, .. })
    }
}

#[cfg(test)]
impl Sample {
    /// A wrong response to a prompt of one token, whose tokens were drawn at -1 nat each.
    pub(super) fn wrong(response: Vec<u32>) -> Self {
        let how = reward_math::How {
            rung: reward_math::Rung::Spelling,
            response: None,
            ground_truth: None,
        };
        Self {
            rollout_log_prob: vec![-1.0; response.len()],
            sequence: Sequence::new(vec![1], response),
            truncated: false,
            text: String::new(),
            verdict: Verdict::Wrong { how },
            reward: 0.0,
            length_reward: 0.0,
            versions: Vec::new(),
        }
    }
}

/// The responses to one question, waiting for a step or being trained on.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionGroup {
    /// Index among the questions of the run.
    pub(crate) question: usize,
    pub(crate) samples: Vec<Sample>,
}

/// Sizes that the groups of a run fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct GroupBounds {
    pub(super) questions: usize,
    pub(super) group_size: usize,
    pub(super) vocab_size: usize,
    /// Sizes of routes, if the model has experts.
    pub(super) routes: Option<RouteShape>,
}

impl QuestionGroup {
    /// The first mismatch of a group that was read from a file, with the expected value; `None` if it fits.
    pub(super) fn fault(&self, bounds: GroupBounds) -> Option<String> {
        let GroupBounds { questions, group_size, vocab_size, routes } = bounds;
        if self.question >= questions {
            return Some(format!("question {} of {questions}: other data", self.question));
        }
        if self.samples.len() != group_size {
            return Some(format!("{} responses, expected {group_size}", self.samples.len()));
        }
        self.samples.iter().find_map(|Sample { sequence, rollout_log_prob, .. }| {
            let (count, expected) = (rollout_log_prob.len(), sequence.response.len());
            sequence.fault(vocab_size, routes).or_else(|| {
                (count != expected)
                    .then(|| format!("{count} log-probabilities of {expected} response tokens"))
            })
        })
    }
}
