//! Samples and rewards the responses of a run, or replays them.

use std::rc::Rc;

use anyhow::{Context, ensure};
use question_data::prompt::Prompt;
use question_data::question_order::QuestionOrder;
use training_run::config::Run;
use training_run::dynamic_sampling::{Demand, GroupSampler, NextBatch, SampledGroup, StepGroups};
use training_run::saved_rollouts::{SavedRollouts, SavedStep};

use super::policy::Policy;
use super::questions::RunQuestions;
use super::replay::{RolloutSource, fault_of};
use super::rewarder::Rewarder;
use super::step_record::StepRecord;
use crate::training::engine_reply::ReplyDecoding;
use crate::training::external::ExternalEngine;
use crate::training::rollout::{Engine, QuestionGroup, Rollout, Sample, SamplingPass};
use crate::training::step_key::StepKey;
use decoder::generation::GenerationOptions;
use decoder::model::Decoder;
use ranks::DeviceMesh;

/// Questions, engine and rewards of a run, with its position in the questions.
#[derive(Debug)]
pub(super) struct Sampler {
    pub(super) run: Rc<Run>,
    pub(super) mesh: DeviceMesh,
    pub(super) questions: RunQuestions,
    pub(super) order: QuestionOrder,
    /// Groups that wait for a later step.
    pub(super) waiting: GroupSampler<QuestionGroup>,
    pub(super) rewarder: Rewarder,
    /// Engine that samples in place of the policy.
    pub(super) engine: Option<ExternalEngine>,
    pub(super) source: RolloutSource,
}

impl Sampler {
    /// Samples or replays the groups of a step; adds a warning if replayed ones were sampled with other weights. `updates` is
    /// the number of the policy's optimiser steps so far.
    ///
    /// # Errors
    ///
    /// If generation fails, or replayed groups do not belong to this run.
    pub(super) fn sample(
        &mut self,
        policy: &Policy,
        updates: u64,
        record: &mut StepRecord,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<Vec<SampledGroup<QuestionGroup>>> {
        let step_groups = match self.source.clone() {
            RolloutSource::Sampled => self.draw(policy, updates, record, phase)?,
            RolloutSource::Saved(files) => {
                let weights = policy.fingerprint();
                let StepGroups { groups, statistics } =
                    self.draw(policy, updates, record, phase)?;
                let (cursor, waiting) = (self.order.cursor(), self.waiting.clone());
                let step = record.step;
                let saved = SavedStep { step, weights, cursor, statistics, groups, waiting };
                if self.mesh.run.is_first() {
                    files.write(&saved)?;
                }
                let SavedStep { groups, statistics, .. } = saved;
                StepGroups { groups, statistics }
            }
            RolloutSource::Replayed(files) => self.replay(&files, policy, record)?,
        };
        if self.run.config().dynamic_sampling.enabled {
            step_groups.statistics.record(&mut record.metrics);
        }
        Ok(step_groups.groups)
    }

    /// The prompts of groups.
    pub(super) fn prompts(&self, groups: &[SampledGroup<QuestionGroup>]) -> Vec<&Prompt> {
        let prompts = &self.questions.questions.prompts;
        groups.iter().map(|group| &prompts[group.responses.question]).collect()
    }

    /// Samples groups; with dynamic sampling, until enough of them have differing rewards.
    fn draw(
        &mut self,
        policy: &Policy,
        updates: u64,
        record: &mut StepRecord,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<StepGroups<QuestionGroup>> {
        let (config, step) = (self.run.config(), record.step);
        let section = &config.rollout;
        let demand = Demand {
            settings: config.dynamic_sampling,
            groups: section.prompts_per_step,
            group_size: section.group_size,
        };
        let options = self.rewarder.text.options(section, demand.group_size, section.sampling());
        if let Some(engine) = &mut self.engine {
            phase("sending the weights");
            engine
                .send_weights(&policy.model, &config.model.path, updates)
                .with_context(|| format!("weights of step {step}"))?;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.begin_step(step, &demand);
        let key = StepKey { seed: config.seed, step };
        let mut asked = 0;
        while let NextBatch::Ask(count) = waiting.next(&demand) {
            let chosen = self.order.next_batch(count);
            let rollout = self
                .roll_out(&policy.model, &chosen, &options, key, asked, phase)
                .with_context(|| format!("rollout of step {step}"))?;
            asked += count as u64;
            record.timings.add_rollout(&rollout, self.engine.is_some());
            let groups = chosen.iter().zip(rollout.samples.chunks(demand.group_size));
            let groups = groups.map(|(&question, samples)| self.group(step, question, samples));
            waiting.add(groups.collect(), &demand)?;
        }
        let step_groups = waiting.finish_step(&demand)?;
        self.waiting = waiting;
        Ok(step_groups)
    }

    /// Samples responses to the `chosen` questions; `asked` questions were asked in this step before.
    fn roll_out(
        &self,
        model: &Decoder,
        chosen: &[usize],
        options: &GenerationOptions,
        key: StepKey,
        asked: u64,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<Rollout> {
        let config = self.run.config();
        let prompts: Vec<&Prompt> =
            chosen.iter().map(|&index| &self.questions.questions.prompts[index]).collect();
        let engine = match &self.engine {
            None => Engine::Own(model),
            Some(engine) => {
                let decoding = ReplyDecoding {
                    tokenizer: &self.rewarder.text.tokenizer,
                    stop: &config.rollout.stop,
                    vocab_size: model.config().vocab_size,
                };
                Engine::External(engine, decoding)
            }
        };
        let judge = self.rewarder.judge(config)?;
        let pass = SamplingPass { mesh: &self.mesh, engine, options, judge };
        pass.roll_out(&prompts, key, asked, phase)
    }

    /// Makes a group of this step from the responses to a question.
    fn group(&self, step: u64, question: usize, samples: &[Sample]) -> SampledGroup<QuestionGroup> {
        // Rewards of the verdicts alone: a length penalty says nothing about the question.
        let earned = self.run.config().reward.values;
        let is_own = self.rewarder.custom_reward.is_some();
        let worth =
            |sample: &Sample| if is_own { sample.reward } else { earned.of(&sample.verdict) };
        SampledGroup {
            rewards: samples.iter().map(worth).collect(),
            right: samples.iter().filter(|sample| sample.verdict.is_right()).count(),
            sampled_at: step,
            responses: QuestionGroup { question, samples: samples.to_vec() },
        }
    }

    /// Reads the saved groups of a step.
    fn replay(
        &mut self,
        files: &SavedRollouts,
        policy: &Policy,
        record: &mut StepRecord,
    ) -> anyhow::Result<StepGroups<QuestionGroup>> {
        let (step, config) = (record.step, self.run.config());
        let saved: SavedStep<QuestionGroup> = files.read(step)?;
        let prompts = &self.questions.questions.prompts;
        let vocab_size = policy.model.config().vocab_size;
        for (number, group) in (1..).zip(&saved.groups) {
            let fault = fault_of(&group.responses, config.rollout.group_size, prompts, vocab_size);
            if let Some(fault) = fault {
                anyhow::bail!("{}: group {number}: {fault}", files.path(step).display());
            }
        }
        let (questions, cursor) = (prompts.len(), saved.cursor);
        ensure!(
            cursor.position <= questions,
            "{}: the run stood at question {} of its data, which has {questions}",
            files.path(step).display(),
            cursor.position
        );
        self.order = QuestionOrder::new(config.seed, questions, cursor);
        self.waiting = saved.waiting;
        if saved.weights != policy.fingerprint() {
            let warning = "the replayed responses were sampled by other weights, so the update is another too; rollout/mismatch_kl \
                 says how far the two are apart";
            record.warnings.push(warning.to_owned());
        }
        Ok(StepGroups { groups: saved.groups, statistics: saved.statistics })
    }
}
