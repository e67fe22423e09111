//! Samples of a preflight, and statistics over them.

use serde::Serialize;

/// Verdict on one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SampleGrade {
    /// Its answer is right.
    Right,
    /// Its answer is wrong.
    Wrong,
    /// No answer was found in it.
    Unparsed,
}

/// One response to one of the prompts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreflightSample {
    /// Its text.
    pub text: String,
    /// Its length in tokens.
    pub tokens: usize,
    /// True if it was cut at the length limit.
    pub truncated: bool,
    /// True if it ended by an end-of-sequence token.
    pub ended_by_token: bool,
    /// Verdict of the verifier.
    pub outcome: SampleGrade,
    /// Reason for the verdict, in words.
    pub reason: String,
    /// Reward of the response.
    pub reward: f64,
    /// Sum of the exact entropies of its tokens' distributions, in nats.
    pub entropy_sum: f64,
}

/// The responses to one prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PreflightGroup {
    /// Name of the question.
    pub question: String,
    /// Text of the question.
    pub problem: String,
    /// The known answer.
    pub answer: String,
    /// Length of the prompt in tokens.
    pub prompt_tokens: usize,
    /// The responses.
    pub samples: Vec<PreflightSample>,
}

impl PreflightGroup {
    pub(super) fn right(&self) -> usize {
        self.samples.iter().filter(|sample| sample.outcome == SampleGrade::Right).count()
    }

    /// True if the rewards of the group differ, so that comparing them teaches something.
    pub(super) fn teaches(&self) -> bool {
        self.samples.windows(2).any(|pair| (pair[0].reward - pair[1].reward).abs() > 0.0)
    }
}

/// Something that keeps a run from learning, or makes it learn slowly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// True if no step of the run could have a gradient.
    pub fatal: bool,
    /// Observation that shows the problem.
    pub seen: String,
    /// The settings to change, the likeliest first.
    pub settings: Vec<&'static str>,
    /// Advice on how to change them.
    pub advice: String,
}

/// Statistics over the samples of a run before its first step. Shares are fractions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Preflight {
    /// Number of prompts.
    pub prompts: usize,
    /// Number of responses to each prompt.
    pub group_size: usize,
    /// The first prompt as the model reads it.
    pub rendered_prompt: String,
    /// Share of responses that are right.
    pub right_fraction: f64,
    /// Share of responses in which no answer was found.
    pub unparsed_fraction: f64,
    /// Share of responses that were cut at the length limit.
    pub truncated_fraction: f64,
    /// Share of responses that an end-of-sequence token ended.
    pub ended_by_token_fraction: f64,
    /// Share of responses that `rollout.stop` or `rollout.stop_token_ids` ended.
    pub ended_by_stop_fraction: f64,
    /// Share of groups whose rewards differ.
    pub teaching_group_fraction: f64,
    /// Number of groups by how many of their responses are right, from none to all, `[group_size + 1]`.
    pub groups_by_right: Vec<usize>,
    /// Lengths of responses in tokens, at [`QUANTILES`].
    pub length_quantiles: [f64; 5],
    /// Longest prompt in tokens.
    pub longest_prompt_tokens: usize,
    /// Mean entropy of a token's distribution over the whole vocabulary, in nats.
    pub mean_entropy: f64,
    /// Share of groups whose responses are all the same text.
    pub repeated_group_fraction: f64,
    /// Problems of the run, the fatal first.
    pub findings: Vec<Finding>,
    /// Every response.
    pub groups: Vec<PreflightGroup>,
}

/// Levels of the quantiles of response lengths.
pub const QUANTILES: [f64; 5] = [0.0, 0.25, 0.5, 0.9, 1.0];
