//! Whether a run can learn at all, seen from a few dozen of its own samples before it is started.
//!
//! [`Preflight`] counts what was sampled; [`Finding`]s say what is wrong and which setting changes it. A finding is
//! [fatal](Finding::fatal) where no step of the run could have a gradient.

mod findings;
mod text;

use serde::Serialize;

pub use findings::{Finding, MOST, ModelFacts, Settings};

/// What became of one response.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Its answer is right.
    Right,
    /// Its answer is wrong.
    Wrong,
    /// No answer was found in it.
    Unparsed,
}

/// One response to one of the prompts.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleSeen {
    /// Its text.
    pub text: String,
    /// Its length in tokens.
    pub tokens: usize,
    /// Whether it was cut at the length limit.
    pub truncated: bool,
    /// Whether it ended by an end-of-sequence token.
    pub ended_by_token: bool,
    /// What the verifier says.
    pub outcome: Outcome,
    /// Why, in words.
    pub reason: String,
    /// What it earns.
    pub reward: f64,
    /// Sum of the exact entropies of its tokens' distributions, in nats.
    pub entropy_sum: f64,
}

/// The responses to one prompt.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupSeen {
    /// Name of the question.
    pub question: String,
    /// What is asked.
    pub problem: String,
    /// The known answer.
    pub answer: String,
    /// Length of the prompt in tokens.
    pub prompt_tokens: usize,
    /// The responses.
    pub samples: Vec<SampleSeen>,
}

impl GroupSeen {
    fn right(&self) -> usize {
        self.samples.iter().filter(|sample| sample.outcome == Outcome::Right).count()
    }

    /// Whether its rewards differ, so that they teach something by comparison.
    fn teaches(&self) -> bool {
        self.samples.windows(2).any(|pair| (pair[0].reward - pair[1].reward).abs() > 0.0)
    }
}

/// What was seen of a run before its first step. Shares are fractions.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Preflight {
    /// Prompts asked.
    pub prompts: usize,
    /// Responses to each.
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
    /// What is wrong, the fatal first.
    pub findings: Vec<Finding>,
    /// Every response.
    pub groups: Vec<GroupSeen>,
}

/// Where the quantiles of the lengths are taken.
pub const QUANTILES: [f64; 5] = [0.0, 0.25, 0.5, 0.9, 1.0];

impl Preflight {
    /// Counts and judges; every group has the same number of responses.
    ///
    /// # Panics
    ///
    /// If there is no response.
    pub fn new(rendered_prompt: String, groups: Vec<GroupSeen>, settings: &Settings) -> Self {
        let samples = || groups.iter().flat_map(|group| &group.samples);
        let count = samples().count();
        assert!(count > 0, "a response to look at");
        let share = |is: &dyn Fn(&SampleSeen) -> bool| {
            samples().filter(|sample| is(sample)).count() as f64 / count as f64
        };
        let share_of_groups = |is: &dyn Fn(&GroupSeen) -> bool| {
            groups.iter().filter(|group| is(group)).count() as f64 / groups.len() as f64
        };
        let group_size = groups.iter().map(|group| group.samples.len()).max().unwrap_or(0);
        let mut groups_by_right = vec![0; group_size + 1];
        for group in &groups {
            groups_by_right[group.right()] += 1;
        }
        let mut lengths: Vec<usize> = samples().map(|sample| sample.tokens).collect();
        lengths.sort_unstable();
        let tokens: usize = lengths.iter().sum();
        let entropy: f64 = samples().map(|sample| sample.entropy_sum).sum();
        let mut seen = Self {
            prompts: groups.len(),
            group_size,
            rendered_prompt,
            right_fraction: share(&|sample| sample.outcome == Outcome::Right),
            unparsed_fraction: share(&|sample| sample.outcome == Outcome::Unparsed),
            truncated_fraction: share(&|sample| sample.truncated),
            ended_by_token_fraction: share(&|sample| sample.ended_by_token),
            ended_by_stop_fraction: share(&|sample| !sample.truncated && !sample.ended_by_token),
            teaching_group_fraction: share_of_groups(&GroupSeen::teaches),
            groups_by_right,
            length_quantiles: QUANTILES.map(|level| quantile(&lengths, level)),
            longest_prompt_tokens: groups.iter().map(|g| g.prompt_tokens).max().unwrap_or(0),
            mean_entropy: entropy / tokens.max(1) as f64,
            repeated_group_fraction: share_of_groups(&|group| {
                group.samples.len() > 1
                    && group.samples.windows(2).all(|pair| pair[0].text == pair[1].text)
            }),
            findings: Vec::new(),
            groups,
        };
        seen.findings = findings::findings(&seen, settings);
        seen
    }

    /// Whether no step of the run could have a gradient.
    pub fn cannot_learn(&self) -> bool {
        self.findings.iter().any(|finding| finding.fatal)
    }
}

/// The quantile of ascending values, linear between neighbours.
fn quantile(ascending: &[usize], level: f64) -> f64 {
    let place = level * (ascending.len() - 1) as f64;
    let below = place.floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a place among values that are in memory"
    )]
    let index = below as usize;
    let (low, high) = (ascending[index], ascending[(index + 1).min(ascending.len() - 1)]);
    low as f64 + (place - below) * (high as f64 - low as f64)
}
