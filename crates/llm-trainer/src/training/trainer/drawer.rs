//! All that sampling takes besides the policy: questions, engine and rewards of a run.

use std::sync::Arc;

use decoder::generation::GenerationOptions;
use decoder::model::Decoder;
use question_data::prompt::Prompt;
use training_run::config::Run;
use training_run::dynamic_sampling::{Demand, SampledGroup};

use super::questions::RunQuestions;
use crate::training::engine::ExternalEngine;
use crate::training::environment::Environment;
use crate::training::judge::Judge;
use crate::training::rollout::{Engine, Rollout};
use crate::training::sample::{QuestionGroup, Sample};

/// Questions, engine and rewards of a run; threads share them.
#[derive(Debug)]
pub(super) struct Drawer {
    pub(super) run: Arc<Run>,
    pub(super) questions: RunQuestions,
    pub(super) judge: Judge,
    /// Engine that samples in place of the policy.
    pub(super) engine: Option<ExternalEngine>,
    /// Harnesses that play with the policy.
    pub(super) environment: Option<Environment>,
}

impl Drawer {
    /// The groups that a step needs.
    pub(super) fn demand(&self) -> Demand {
        let config = self.run.config();
        Demand {
            settings: config.dynamic_sampling,
            groups: config.rollout.prompts_per_step,
            group_size: config.rollout.group_size,
            staleness: config.rollout.staleness,
        }
    }

    /// Options for sampling the groups of a step.
    pub(super) fn options(&self) -> GenerationOptions {
        let section = &self.run.config().rollout;
        let options = self.judge.text.options(section, section.group_size, section.sampling());
        GenerationOptions { record_routes: section.routing_replay, ..options }
    }

    pub(super) fn prompts(&self, chosen: &[usize]) -> Vec<&Prompt> {
        chosen.iter().map(|&index| &self.questions.questions.prompts[index]).collect()
    }

    /// The engine that samples, to train or to evaluate: the model with the harnesses, `external`, or the model alone.
    pub(super) fn sampled_by<'a>(
        &'a self,
        model: &'a Decoder,
        external: Option<&'a ExternalEngine>,
        evaluates: bool,
    ) -> Engine<'a> {
        match (&self.environment, external) {
            (Some(environment), _) => Engine::Played { model, environment, evaluates },
            (None, Some(engine)) => Engine::External(engine),
            (None, None) => Engine::Own(model),
        }
    }

    /// The groups of a rollout that the weights of `step` sampled, one for each of the `chosen` questions that is not dropped.
    pub(super) fn groups(
        &self,
        step: u64,
        chosen: &[usize],
        rollout: &Rollout,
    ) -> Vec<SampledGroup<QuestionGroup>> {
        let is_dropped = |place| rollout.dropped.iter().any(|(dropped, _)| *dropped == place);
        let kept = (0..).zip(chosen).filter(|(place, _)| !is_dropped(*place));
        let groups = kept.zip(rollout.samples.chunks(self.demand().group_size));
        // Rewards of the verdicts alone: a length penalty says nothing about the question.
        let earned = self.run.config().reward.values;
        let is_own = self.judge.custom_reward.is_some() || self.environment.is_some();
        let worth =
            |sample: &Sample| if is_own { sample.reward } else { earned.of(&sample.verdict) };
        let groups = groups.map(|((_, &question), samples)| SampledGroup {
            rewards: samples.iter().map(worth).collect(),
            right: samples.iter().filter(|sample| sample.verdict.is_right()).count(),
            sampled_at: step,
            responses: QuestionGroup { question, samples: samples.to_vec() },
        });
        groups.collect()
    }
}
