//! Decodes, judges and rewards a response.

use anyhow::Context;
use code_sandbox::Sandbox;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use question_data::dataset::Question;
use question_data::ground_truth::{GroundTruth, RewardKinds};
use rayon::ThreadPool;
use reward_math::{Options, Reward};
use rl_losses::OverlongPenalty;

use super::custom_reward::{CustomReward, RewardInput};

/// Settings for judging responses.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// Decodes tokens to the text that is judged.
    pub tokenizer: &'a TextTokenizer,
    /// Texts that end a response and are not judged.
    pub stop_strings: Option<&'a StopStrings>,
    /// Settings for finding and comparing an answer.
    pub options: &'a Options,
    /// Kind of comparison for each source of questions.
    pub kinds: &'a RewardKinds,
    /// Sandbox for programs, if any are run.
    pub sandbox: Option<&'a Sandbox>,
    /// Thread pool for judging; `None` for that of the process.
    pub pool: Option<&'a ThreadPool>,
    /// Reward of each verdict.
    pub reward: Reward,
    /// Custom reward of a response, in place of `reward`.
    pub own: Option<&'a CustomReward>,
    /// Penalty for long responses.
    pub overlong: Option<OverlongPenalty>,
}

impl Judge<'_> {
    /// Parses the known answer to a question.
    pub(super) fn truth(&self, question: &Question) -> anyhow::Result<GroundTruth> {
        let kind = self.kinds.of(&question.source);
        kind.read(&question.answer, self.options)
            .with_context(|| format!("question {}: answer {:?}", question.id, question.answer))
    }

    /// The text of a response up to a stop string.
    pub(super) fn text(&self, token_ids: &[u32]) -> Result<String, TokenizerError> {
        let text = self.tokenizer.decode(token_ids)?;
        Ok(self.stop_strings.map_or(text.as_str(), |stops| stops.cut(&text)).to_owned())
    }

    /// Rewards of judged responses, in their order, in reward units.
    pub(super) fn rewards(&self, judged: &[RewardInput<'_>]) -> anyhow::Result<Vec<Earned>> {
        let earned = match self.own {
            Some(own) => own.of(judged)?,
            None => judged.iter().map(|one| self.reward.of(one.verdict)).collect(),
        };
        let penalty = |tokens| self.overlong.map_or(0.0, |overlong| overlong.penalty(tokens));
        let both = std::iter::zip(earned, judged).map(|(earned, one)| {
            let length = penalty(one.tokens);
            Earned { reward: earned + length, length }
        });
        Ok(both.collect())
    }
}

/// Reward of a response.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Earned {
    /// Reward, with that of its length.
    pub(super) reward: f64,
    /// Reward of its length alone, at most 0.
    pub(super) length: f64,
}
