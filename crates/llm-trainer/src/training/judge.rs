//! Decodes, judges and rewards responses; judges on other threads while the rest are still sampled.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::Context;
use code_sandbox::Sandbox;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use question_data::dataset::Question;
use question_data::ground_truth::{GroundTruth, RewardKinds};
use rayon::{Scope, ThreadPool};
use reward_math::{Options, Reward, Verdict};
use rl_losses::OverlongPenalty;

use super::custom_reward::{CustomReward, RewardInput};
use decoder::generation::{Finish, Generated, Listener, Tally};

/// Interval between progress messages.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// Settings for judging responses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judge<'a> {
    /// Decodes tokens to the text that is judged.
    pub(crate) tokenizer: &'a TextTokenizer,
    /// Texts that end a response and are not judged.
    pub(crate) stop_strings: Option<&'a StopStrings>,
    /// Settings for finding and comparing an answer.
    pub(crate) options: &'a Options,
    /// Kind of comparison for each source of questions.
    pub(crate) kinds: &'a RewardKinds,
    /// Sandbox for programs, if any are run.
    pub(crate) sandbox: Option<&'a Sandbox>,
    /// Thread pool for judging; `None` for that of the process.
    pub(crate) pool: Option<&'a ThreadPool>,
    pub(crate) reward: Reward,
    /// Custom reward of a response, in place of `reward`.
    pub(crate) own: Option<&'a CustomReward>,
    pub(crate) overlong: Option<OverlongPenalty>,
}

impl Judge<'_> {
    /// Parses the known answer to a question.
    pub(super) fn truth(&self, question: &Question) -> anyhow::Result<GroundTruth> {
        let kind = self.kinds.of(&question.source);
        kind.read(&question.answer, self.options)
            .map(|truth| truth.asked(&question.text()))
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

/// A response with its verdict.
#[derive(Debug)]
pub(super) struct Graded {
    pub(super) response: Generated,
    pub(super) text: String,
    pub(super) verdict: Verdict,
}

impl Graded {
    /// Returns true if the response was truncated at the length limit.
    pub(super) fn truncated(&self) -> bool {
        self.response.finish == Finish::Length
    }
}

/// One slot per response, filled by whichever thread judges it: order and content do not depend on the threads.
pub(super) type Places = Vec<OnceLock<anyhow::Result<Graded>>>;

/// Passes every finished response to the threads of a scope.
pub(super) struct Grader<'a, 'scope> {
    pub(super) scope: &'a Scope<'scope>,
    pub(super) judge: Judge<'scope>,
    /// One ground truth per prompt.
    pub(super) truths: &'scope [GroundTruth],
    /// One slot per response, prompt after prompt.
    pub(super) places: &'scope Places,
    /// Takes progress messages, at intervals.
    pub(super) tell: &'a dyn Fn(&str),
    pub(super) started: Instant,
    /// Time of the last message.
    pub(super) told: Instant,
}

impl Listener for Grader<'_, '_> {
    fn finished(&mut self, index: usize, response: Generated) {
        let (judge, places) = (self.judge, self.places);
        let truth = &self.truths[index / (places.len() / self.truths.len())];
        self.scope.spawn(move |_| {
            let grade = || {
                let text = judge.text(&response.token_ids)?;
                let verdict = truth.judge(&text, judge.sandbox)?;
                Ok(Graded { response, text, verdict })
            };
            // Every response finishes once.
            let _filled = places[index].set(grade());
        });
    }

    fn progress(&mut self, tally: &Tally) {
        if self.told.elapsed() < TELL_EVERY {
            return;
        }
        self.told = Instant::now();
        let Tally { total, finished, truncated, tokens } = tally;
        let rate = *tokens as f64 / self.started.elapsed().as_secs_f64();
        (self.tell)(&format!(
            "sampling: {finished} of {total} responses, {truncated} truncated, {rate:.0} tokens/s"
        ));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_formula_of_the_question_earns_nothing() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny_qwen2_tied");
        let judge = Judge {
            tokenizer: &TextTokenizer::load(&fixture).expect("a fixture"),
            stop_strings: None,
            options: &Options::default(),
            kinds: &RewardKinds::default(),
            sandbox: None,
            pool: None,
            reward: Reward::default(),
            own: None,
            overlong: None,
        };
        let question = Question {
            id: "1".to_owned(),
            problem: r"Evaluate $\int_0^1 x^2\,dx$.".to_owned(),
            answer: r"\frac13".to_owned(),
            source: "own".to_owned(),
            context: Vec::new(),
        };
        let truth = judge.truth(&question).expect("a readable answer");
        assert!(truth.verify(r"\boxed{\frac13}").is_right());
        assert!(!truth.verify(r"\boxed{\int_0^1 x^2\,dx}").is_right());
    }
}
