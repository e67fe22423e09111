//! What judges and rewards the responses of a run.

use code_sandbox::{Helper, Sandbox};
use question_data::ground_truth::RewardKinds;
use training_run::config::RunConfig;

use super::response_text::ResponseText;
use crate::training::judge::Judge;
use crate::training::own_reward::OwnReward;

/// The verifiers of a run, and what they need.
#[derive(Debug)]
pub(super) struct Rewarder {
    pub(super) text: ResponseText,
    kinds: RewardKinds,
    /// Where programs of responses are run, if any are.
    sandbox: Option<Sandbox>,
    /// The threads that judge responses.
    threads: rayon::ThreadPool,
    /// What responses are worth in place of `reward.values`.
    pub(super) own_reward: Option<OwnReward>,
}

impl Rewarder {
    /// The verifiers that `config` names.
    ///
    /// # Errors
    ///
    /// If programs of responses are to be run and cannot be, or no thread can be started.
    pub(super) fn start(config: &RunConfig, text: ResponseText) -> anyhow::Result<Self> {
        let kinds = config.reward.kinds();
        let sandbox = if kinds.run_programs() {
            Some(Sandbox::start(&config.reward.code, Helper::find()?)?)
        } else {
            None
        };
        let threads = rayon::ThreadPoolBuilder::new().num_threads(config.reward.threads).build()?;
        Ok(Self { text, kinds, sandbox, threads, own_reward: None })
    }

    /// What a person should know of them: one sentence each.
    pub(super) fn notes(&self) -> impl Iterator<Item = &String> {
        self.sandbox.iter().flat_map(Sandbox::notes)
    }

    /// Judges responses as `config` says.
    ///
    /// # Errors
    ///
    /// If the settings of the penalty on long responses are none; a checked configuration holds none such.
    pub(super) fn judge<'a>(&'a self, config: &'a RunConfig) -> anyhow::Result<Judge<'a>> {
        Ok(Judge {
            tokenizer: &self.text.tokenizer,
            stop_strings: self.text.stop_strings.as_deref(),
            options: &config.reward.grading,
            kinds: &self.kinds,
            sandbox: self.sandbox.as_ref(),
            pool: Some(&self.threads),
            reward: config.reward.values,
            own: self.own_reward.as_ref(),
            overlong: config.reward.overlong.penalty(config.rollout.max_response_tokens)?,
        })
    }
}
