//! Judges and rewards the responses of a run.

use code_sandbox::{Helper, Sandbox};
use question_data::ground_truth::RewardKinds;
use training_run::config::RunConfig;

use super::response_text::ResponseText;
use crate::training::custom_reward::CustomReward;
use crate::training::judge::Judge;
use crate::training::reward_program::custom_reward;

/// The verifiers of a run with their resources.
#[derive(Debug)]
pub(super) struct Rewarder {
    pub(super) text: ResponseText,
    kinds: RewardKinds,
    /// Sandbox for programs in responses, if any are run.
    sandbox: Option<Sandbox>,
    /// Threads that judge responses.
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
