//! Decodes, judges and rewards responses; judges on other threads while the rest are still sampled.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use anyhow::Context;
use code_sandbox::{Helper, Sandbox};
use decoder::generation::{Finish, Generated, GenerationOptions, Listener, Tally};
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use question_data::dataset::Question;
use question_data::ground_truth::{GroundTruth, RewardKind, RewardKinds};
use question_data::prompt::Prompt;
use rayon::{Scope, ThreadPool, ThreadPoolBuilder};
use reward_math::{Options, Reward};
use rl_losses::OverlongPenalty;
use training_run::config::{RolloutSection, RunConfig};

use super::custom_reward::{CustomReward, RewardInput, custom_reward};
use super::sample::Sample;
use super::sequence::Sequence;

/// Interval between progress messages.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// The verifiers of a run with their resources.
#[derive(Debug)]
pub(crate) struct Judge {
    pub(super) text: ResponseText,
    /// Settings for finding and comparing an answer.
    options: Options,
    /// Kind of comparison for each source of questions.
    kinds: RewardKinds,
    /// Sandbox for programs in responses, if any are run.
    pub(super) sandbox: Option<Sandbox>,
    pub(super) pool: ThreadPool,
    reward: Reward,
    /// Custom reward of a response, in place of `reward`.
    pub(super) custom_reward: Option<CustomReward>,
    overlong: Option<OverlongPenalty>,
}

impl Judge {
    /// Compares answers as expressions, and rewards the right ones.
    pub(crate) fn plain(tokenizer: TextTokenizer, options: Options) -> anyhow::Result<Self> {
        Ok(Self {
            text: ResponseText { tokenizer, end_ids: vec![], stop_ids: vec![], stop_strings: None },
            options,
            kinds: RewardKinds::default(),
            sandbox: None,
            pool: ThreadPoolBuilder::new().build()?,
            reward: Reward::default(),
            custom_reward: None,
            overlong: None,
        })
    }

    /// Starts the verifiers that `config` names.
    pub(super) fn start(config: &RunConfig, text: ResponseText) -> anyhow::Result<Self> {
        let (settings, kinds) = (&config.reward, config.reward.kinds());
        let sandbox = if kinds.run_programs() {
            Some(Sandbox::start(&settings.code, Helper::find()?)?)
        } else {
            None
        };
        Ok(Self {
            text,
            options: settings.grading.clone(),
            kinds,
            sandbox,
            pool: ThreadPoolBuilder::new().num_threads(settings.threads).build()?,
            reward: settings.values,
            custom_reward: custom_reward(settings)?,
            overlong: settings.overlong.penalty(config.rollout.max_response_tokens)?,
        })
    }

    pub(super) fn truth(&self, question: &Question) -> anyhow::Result<GroundTruth> {
        known_answer(self.kinds.of(&question.source), question, &self.options)
    }

    /// A response to `prompt` with its verdict, not rewarded yet.
    fn judged(
        &self,
        prompt: &Prompt,
        truth: &GroundTruth,
        response: Generated,
    ) -> anyhow::Result<Sample> {
        let text = self.text.decode(&response.token_ids)?;
        let verdict = truth.judge(&text, self.sandbox.as_ref())?;
        Ok(Sample {
            truncated: response.finish == Finish::Length,
            sequence: Sequence {
                mask: response.mask,
                routes: response.routes,
                ..Sequence::new(prompt.tokens.clone(), response.token_ids)
            },
            rollout_log_prob: response.log_prob,
            text,
            verdict,
            reward: 0.0,
            length_reward: 0.0,
            versions: Vec::new(),
        })
    }

    /// Sets the rewards of judged responses, in reward units; there are `size` to each prompt.
    pub(super) fn reward(
        &self,
        prompts: &[&Prompt],
        samples: &mut [Sample],
        size: usize,
    ) -> anyhow::Result<()> {
        let judged = samples.iter().enumerate().map(|(index, sample)| RewardInput {
            question: &prompts[index / size].question,
            response: &sample.text,
            verdict: &sample.verdict,
            tokens: sample.sequence.response.len(),
            truncated: sample.truncated,
        });
        let judged: Vec<RewardInput<'_>> = judged.collect();
        let earned = match &self.custom_reward {
            Some(custom) => custom.of(&judged)?,
            None => judged.iter().map(|one| self.reward.of(one.verdict)).collect(),
        };
        for (sample, earned) in samples.iter_mut().zip(earned) {
            let tokens = sample.sequence.response.len();
            let length = self.overlong.map_or(0.0, |overlong| overlong.penalty(tokens));
            (sample.reward, sample.length_reward) = (earned + length, length);
        }
        Ok(())
    }
}

/// Parses the known answer to a question, of this kind.
pub(crate) fn known_answer(
    kind: RewardKind,
    question: &Question,
    options: &Options,
) -> anyhow::Result<GroundTruth> {
    kind.read(&question.answer, options)
        .map(|truth| truth.asked(&question.text()))
        .with_context(|| format!("question {}: answer {:?}", question.id, question.answer))
}

/// One slot per response, filled by whichever thread judges it: order and content do not depend on the threads.
pub(super) type Places = Vec<OnceLock<anyhow::Result<Sample>>>;

/// Passes every finished response to the threads of a scope.
pub(super) struct Grader<'a, 'scope> {
    pub(super) scope: &'a Scope<'scope>,
    pub(super) judge: &'scope Judge,
    pub(super) prompts: &'scope [&'scope Prompt],
    pub(super) truths: &'scope [GroundTruth],
    pub(super) places: &'scope Places,
    /// Takes progress messages, at intervals.
    pub(super) tell: &'a dyn Fn(&str),
    pub(super) started: Instant,
    pub(super) told: Instant,
}

impl Listener for Grader<'_, '_> {
    fn finished(&mut self, index: usize, response: Generated) {
        let (judge, places) = (self.judge, self.places);
        let prompt = index / (places.len() / self.truths.len());
        let (truth, prompt) = (&self.truths[prompt], self.prompts[prompt]);
        self.scope.spawn(move |_| {
            // Every response finishes once.
            let _filled = places[index].set(judge.judged(prompt, truth, response));
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

/// Converts token ids to the text of a response, and defines where it ends.
#[derive(Debug)]
pub(super) struct ResponseText {
    pub(super) tokenizer: TextTokenizer,
    /// Tokens that end a response according to the model's files.
    pub(super) end_ids: Vec<u32>,
    /// `end_ids`, and the stop tokens of the run's configuration.
    pub(super) stop_ids: Vec<u32>,
    /// Texts that end a response and are not judged.
    stop_strings: Option<Arc<StopStrings>>,
}

impl ResponseText {
    /// Loads the tokenizer and stop settings from the model's directory and the configuration.
    pub(super) fn load(config: &RunConfig) -> anyhow::Result<Self> {
        let tokenizer = TextTokenizer::load(&config.model.path)?;
        let end_ids = tokenizer.eos_ids(&config.model.path)?;
        let (special, stop_strings) = StopStrings::split(&tokenizer, &config.rollout.stop)?;
        let mut stop_ids = end_ids.clone();
        stop_ids.extend(config.rollout.stop_token_ids.iter().chain(&special));
        Ok(Self { tokenizer, end_ids, stop_ids, stop_strings: stop_strings.map(Arc::new) })
    }

    /// The text of a response up to a stop string.
    pub(super) fn decode(&self, token_ids: &[u32]) -> Result<String, TokenizerError> {
        let text = self.tokenizer.decode(token_ids)?;
        Ok(self.stop_strings.as_ref().map_or(text.as_str(), |stops| stops.cut(&text)).to_owned())
    }

    /// Options for sampling `samples` responses to each prompt.
    pub(super) fn options(
        &self,
        section: &RolloutSection,
        samples: usize,
        sampling: Sampling,
    ) -> GenerationOptions {
        GenerationOptions {
            samples,
            max_new_tokens: section.max_response_tokens,
            sampling,
            stop_ids: self.stop_ids.clone(),
            stop_strings: self.stop_strings.clone(),
            rows: section.rows,
            cpu_kernels: section.cpu_kernels,
            ..GenerationOptions::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn a_formula_of_the_question_earns_nothing() {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny_qwen2_tied");
        let tokenizer = TextTokenizer::load(&fixture).expect("a fixture");
        let judge = Judge::plain(tokenizer, Options::default()).expect("threads to judge on");
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
