//! `[reward_model]`: the implicit process reward model of PRIME.

use std::path::{Path, PathBuf};

use rl_losses::AdvantageEstimator;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::error::Problems;
use super::optimizer::OptimizerSection;

/// When the reward model learns from a step's responses; verl's names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RewardModelUpdate {
    /// Never: it judges as it came.
    None,
    /// First; then it judges them. Two forward passes.
    #[default]
    Before,
    /// While it judges: each mini-batch has the rewards of the pass that it is learnt by. One forward pass.
    After,
}

/// `[reward_model]`: a language model `φ` whose log-ratio to a frozen reference is the reward of each token, trained on
/// whether whole responses are right. `β` stands with the estimator, `algorithm.advantage.prime.beta`.
///
/// Source: Cui et al. 2025, PRIME, [arXiv:2502.01456](https://arxiv.org/abs/2502.01456); defaults are those of the
/// authors' configuration in verl, `recipe/prime/config/prime_trainer.yaml`, but `reference`, which is the paper's: there
/// it is `path`, the same where both are the policy.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RewardModelSection {
    /// Directory or hub name that the reward model `φ` starts from, with the policy's tokens;
    /// empty takes `model.path`. With `algorithm.advantage = "prime"`, `φ` gives every token the
    /// reward `β (log π_φ - log π_ref)` (temperature 1, whole vocabulary). `β` is
    /// `algorithm.advantage.prime.beta`. It learns by the cross-entropy of the responses' outcomes,
    /// correct or not, under the logistic function of their summed rewards. It costs the policy's
    /// memory again; with `[lora]` it trains an adapter of its own. Its format, device and
    /// `training.micro_batch_tokens` are the policy's.
    pub path: PathBuf,
    /// Directory or hub name of `π_ref`, which never moves; empty takes `model.path`. It costs no
    /// second copy if `[algorithm.reference_kl]` has the same directory, nor with `[lora]` if it is
    /// the policy's own.
    pub reference: PathBuf,
    /// Time at which it learns: `"before"` it judges a step's responses, `"after"`, or `"none"`
    /// (never). `"before"` takes two forward passes. With `"after"` each mini-batch is judged by
    /// the pass that it is then learnt by: one forward pass.
    pub update: RewardModelUpdate,
    /// Prompts of its optimiser step, a divisor of `rollout.prompts_per_step`; 0 takes
    /// `algorithm.mini_batch_prompts`.
    pub mini_batch_prompts: usize,
    /// Its `AdamW`.
    pub optimizer: OptimizerSection,
}

impl RewardModelSection {
    /// True if it learns at all.
    pub fn learns(&self) -> bool {
        self.update != RewardModelUpdate::None
    }

    /// The optimiser steps of one training step.
    pub fn optimizer_steps_per_step(&self, prompts_per_step: usize) -> usize {
        if self.learns() { prompts_per_step / self.mini_batch_prompts } else { 0 }
    }

    pub(super) fn check(
        &self,
        advantage: &AdvantageEstimator,
        policy: &Path,
        prompts_per_step: usize,
        problems: &mut Problems,
    ) {
        let AdvantageEstimator::Prime(prime) = advantage else {
            let expected = "absent unless algorithm.advantage is \"prime\"";
            return problems.add("reward_model", "given".to_owned(), expected);
        };
        let mini_batch = self.mini_batch_prompts;
        let divides = mini_batch == 0 || prompts_per_step.is_multiple_of(mini_batch);
        let expected = format!("0 or a divisor of rollout.prompts_per_step = {prompts_per_step}");
        problems.require(divides, "reward_model.mini_batch_prompts", mini_batch, &expected);
        let or_policy = |path: &PathBuf| {
            if path.as_os_str().is_empty() { policy.to_path_buf() } else { path.clone() }
        };
        let path = or_policy(&self.path);
        let says_something = self.learns() || path != or_policy(&self.reference);
        let expected = "another than reward_model.reference where reward_model.update is \"none\": every reward would be 0";
        problems.require(says_something, "reward_model.path", path, expected);
        let expected = "above 0: without it the reward model neither learns nor rewards";
        problems.require(prime.beta > 0.0, "algorithm.advantage.prime.beta", prime.beta, expected);
    }

    /// Writes out what empty paths and a mini-batch of 0 stand for.
    pub(super) fn fill_in(&mut self, policy: &Path, mini_batch_prompts: usize) {
        for path in [&mut self.path, &mut self.reference] {
            if path.as_os_str().is_empty() {
                *path = policy.to_path_buf();
            }
        }
        if self.mini_batch_prompts == 0 {
            self.mini_batch_prompts = mini_batch_prompts;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_reference_stays_and_a_frozen_model_takes_no_step() {
        let mut section = RewardModelSection {
            reference: "/sft".into(),
            update: RewardModelUpdate::None,
            ..RewardModelSection::default()
        };
        section.fill_in(Path::new("models/policy"), 4);
        let paths = (&section.path, &section.reference);
        assert_eq!(paths, (&"models/policy".into(), &"/sft".into()));
        assert_eq!((section.learns(), section.optimizer_steps_per_step(32)), (false, 0));
    }
}
