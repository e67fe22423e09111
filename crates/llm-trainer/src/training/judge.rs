//! How a response is turned to text, judged and rewarded.

use anyhow::Context;
use code_sandbox::Sandbox;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use question_data::dataset::Question;
use question_data::ground_truth::{GroundTruth, RewardKinds};
use rayon::ThreadPool;
use reward_math::{Options, Reward};
use rl_losses::OverlongPenalty;

use super::own_reward::{Judged, OwnReward};

/// How responses are judged.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// Turns tokens to the text that is judged.
    pub tokenizer: &'a TextTokenizer,
    /// Texts that end a response and are no part of what is judged.
    pub stop_strings: Option<&'a StopStrings>,
    /// How an answer is found.
    pub options: &'a Options,
    /// How it is compared, by the source of the question.
    pub kinds: &'a RewardKinds,
    /// Where programs are run, if any are.
    pub sandbox: Option<&'a Sandbox>,
    /// The threads that judge; `None` for those of the process.
    pub pool: Option<&'a ThreadPool>,
    /// What a verdict is worth.
    pub reward: Reward,
    /// What a response is worth, in place of that.
    pub own: Option<&'a OwnReward>,
    /// What is taken off long responses.
    pub overlong: Option<OverlongPenalty>,
}

impl Judge<'_> {
    /// The known answer to a question, read.
    ///
    /// # Errors
    ///
    /// If it is none of the kind of its source.
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

    /// What a judged response is worth, in reward units.
    pub(super) fn reward(&self, judged: Judged<'_>) -> anyhow::Result<f64> {
        let punishment = self.overlong.map_or(0.0, |overlong| overlong.penalty(judged.tokens));
        let earned = match self.own {
            Some(own) => own.of(judged)?,
            None => self.reward.of(judged.verdict),
        };
        Ok(earned + punishment)
    }
}
