//! The tokenizer and the verifiers of a run: where its responses end, and what they earn.

use std::sync::Arc;

use code_sandbox::{Helper, Sandbox};
use decoder::generation::GenerationOptions;
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TextTokenizer;
use question_data::ground_truth::RewardKinds;
use training_run::config::{RolloutSection, RunConfig};

use crate::training::custom_reward::CustomReward;
use crate::training::judge::Judge;
use crate::training::reward_program::custom_reward;

/// Converts token ids to the text of a response, and defines where it ends.
#[derive(Debug)]
pub(super) struct ResponseText {
    pub(super) tokenizer: TextTokenizer,
    /// Tokens that end a response according to the model's files.
    pub(super) end_ids: Vec<u32>,
    /// `end_ids`, and the stop tokens of the run's configuration.
    stop_ids: Vec<u32>,
    /// Texts that end a response.
    pub(super) stop_strings: Option<Arc<StopStrings>>,
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

/// The verifiers of a run with their resources.
#[derive(Debug)]
pub(super) struct Rewarder {
    pub(super) text: ResponseText,
    kinds: RewardKinds,
    /// Sandbox for programs in responses, if any are run.
    sandbox: Option<Sandbox>,
    threads: rayon::ThreadPool,
    /// Custom reward in place of `reward.values`.
    pub(super) custom_reward: Option<CustomReward>,
}

impl Rewarder {
    /// Starts the verifiers that `config` names.
    pub(super) fn start(config: &RunConfig, text: ResponseText) -> anyhow::Result<Self> {
        let kinds = config.reward.kinds();
        let sandbox = if kinds.run_programs() {
            Some(Sandbox::start(&config.reward.code, Helper::find()?)?)
        } else {
            None
        };
        let threads = rayon::ThreadPoolBuilder::new().num_threads(config.reward.threads).build()?;
        let custom_reward = custom_reward(&config.reward)?;
        Ok(Self { text, kinds, sandbox, threads, custom_reward })
    }

    /// Notes for the user about the verifiers, one sentence each.
    pub(super) fn notes(&self) -> impl Iterator<Item = &String> {
        self.sandbox.iter().flat_map(Sandbox::notes)
    }

    /// The judge of responses that `config` describes. Fails only for a length penalty that no checked configuration has.
    pub(super) fn judge<'a>(&'a self, config: &'a RunConfig) -> anyhow::Result<Judge<'a>> {
        Ok(Judge {
            tokenizer: &self.text.tokenizer,
            stop_strings: self.text.stop_strings.as_deref(),
            options: &config.reward.grading,
            kinds: &self.kinds,
            sandbox: self.sandbox.as_ref(),
            pool: Some(&self.threads),
            reward: config.reward.values,
            own: self.custom_reward.as_ref(),
            overlong: config.reward.overlong.penalty(config.rollout.max_response_tokens)?,
        })
    }
}
