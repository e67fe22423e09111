//! Samples and rewards the responses of a run, or replays them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, anyhow, ensure};
use question_data::question_order::{DataCursor, QuestionOrder};
use training_run::config::InFlight;
use training_run::dynamic_sampling::{GroupSampler, SampledGroup, StepGroups};
use training_run::saved_rollouts::{SavedRollouts, SavedStep};

use super::drawer::Drawer;
use super::policy::Policy;
use super::replay::{RolloutSource, other_prompt};
use super::step_record::StepRecord;
use crate::training::rollout::{Engine, Rollout, SamplingPass, asked_share, gather};
use crate::training::sample::{GroupBounds, QuestionGroup};
use decoder::generation::SamplingKey;
use decoder::routes::RouteShape;
use ranks::DeviceMesh;

/// A run's position in its questions, and the responses it has.
#[derive(Debug)]
pub(super) struct Sampler {
    pub(super) drawer: Arc<Drawer>,
    pub(super) mesh: DeviceMesh,
    pub(super) order: QuestionOrder,
    /// Groups that wait for a later step.
    pub(super) waiting: GroupSampler<QuestionGroup>,
    /// Rollouts for later steps that are being sampled.
    pub(super) ahead: VecDeque<RolloutAhead>,
    pub(super) source: RolloutSource,
}

impl Sampler {
    /// Samples or replays the groups of a step; adds a warning if replayed ones were sampled with other weights. `updates` is
    /// the number of the policy's optimiser steps so far. Fails if replayed groups do not belong to this run.
    pub(super) fn sample(
        &mut self,
        policy: &Policy,
        updates: u64,
        record: &mut StepRecord,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<Vec<SampledGroup<QuestionGroup>>> {
        let sampled = match self.source.clone() {
            RolloutSource::Sampled => self.draw(policy, updates, record, phase)?,
            RolloutSource::Saved(files) => {
                let weights = policy.fingerprint();
                let sampled = self.draw(policy, updates, record, phase)?;
                let (cursor, waiting) = (self.order.cursor(), self.waiting.clone());
                let saved = SavedStep { step: record.step, weights, cursor, sampled, waiting };
                if self.mesh.run.is_first() {
                    files.write(&saved)?;
                }
                saved.sampled
            }
            RolloutSource::Replayed(files) => self.replay(&files, policy, record)?,
        };
        if self.drawer.run.config().dynamic_sampling.enabled {
            sampled.statistics.record(&mut record.metrics);
        }
        Ok(sampled.groups)
    }

    /// Samples groups; with dynamic sampling, until enough of them have differing rewards.
    fn draw(
        &mut self,
        policy: &Policy,
        updates: u64,
        record: &mut StepRecord,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<StepGroups<QuestionGroup>> {
        let (drawer, step) = (Arc::clone(&self.drawer), record.step);
        let (config, demand) = (drawer.run.config(), drawer.demand());
        let options = drawer.options();
        if let Some(engine) = &drawer.engine {
            phase("sending the weights");
            engine
                .send_weights(&policy.pass(), &self.mesh, &config.model.path, updates)
                .with_context(|| format!("weights of step {step}"))?;
        }
        let mut waiting = std::mem::take(&mut self.waiting);
        waiting.begin_step(step, &demand);
        let pass = SamplingPass {
            engine: drawer.sampled_by(&policy.model, drawer.engine.as_ref(), false),
            options: &options,
            judge: &drawer.judge,
        };
        let mut first =
            SamplingKey { seed: config.seed, step, prompt: waiting.add_ahead(&demand)? as u64 };
        while let Some(count) = waiting.next(&demand) {
            let chosen = self.order.next_batch(count);
            let rollout = pass
                .roll_out(&self.mesh, &drawer.prompts(&chosen), first, phase)
                .with_context(|| format!("rollout of step {step}"))?;
            first.prompt += count as u64;
            record.add_rollout(&rollout, drawer.engine.is_some());
            record.dropped.extend(rollout.dropped.iter().map(|(_, reason)| reason.clone()));
            waiting.add(drawer.groups(step, &chosen, &rollout), &demand)?;
        }
        let step_groups = waiting.finish_step(&demand)?;
        if let Some(reason) = record.dropped.first() {
            let count = record.dropped.len();
            ensure!(
                !step_groups.groups.is_empty(),
                "step {step}: all groups are left out, {count} because their harness failed: {reason}"
            );
            record.warnings.push(format!("{count} groups are left out: {reason}"));
        }
        self.waiting = waiting;
        if let Some(engine) = &drawer.engine {
            engine.rest(&self.mesh)?;
            record.warnings.extend(engine.news());
        }
        Ok(step_groups)
    }

    /// Begins to sample the responses of later steps, with the weights that the servers have now, up to `rollout.staleness` steps ahead.
    pub(super) fn begin_ahead(&mut self, step: u64) -> anyhow::Result<()> {
        let config = self.drawer.run.config();
        if matches!(self.source, RolloutSource::Replayed(_)) {
            return Ok(());
        }
        let last = config.training.steps.min(step + config.rollout.staleness);
        let next = step + 1 + (self.waiting.batches_ahead() + self.ahead.len()) as u64;
        for later in next..=last {
            let count = self.waiting.prompts_ahead(later - step, &self.drawer.demand());
            let chosen = self.order.next_batch(count);
            let share = asked_share(&self.mesh, chosen.len());
            let first = SamplingKey { seed: config.seed, step: later, prompt: share.start as u64 };
            let (drawer, asked) = (Arc::clone(&self.drawer), chosen[share].to_vec());
            let thread = std::thread::Builder::new().name(format!("rollout of step {later}"));
            let thread = thread.spawn(move || {
                let engine = drawer.engine.as_ref().context("no servers to ask ahead of a step")?;
                let (engine, judge) = (Engine::External(engine), &drawer.judge);
                let pass = SamplingPass { engine, options: &drawer.options(), judge };
                pass.answer(&drawer.prompts(&asked), first, &|_| {})
            })?;
            self.ahead.push_back(RolloutAhead { step: later, asked_at: step, chosen, thread });
        }
        Ok(())
    }

    /// Waits for the responses of the steps up to `last`, and of all if requests end before weights are sent. Returns them as they
    /// were sampled. If one rank fails, all ranks fail.
    pub(super) fn finish_ahead(&mut self, last: u64) -> anyhow::Result<Vec<Rollout>> {
        let continues = self.drawer.run.config().rollout.servers.in_flight == InFlight::Continue;
        let mut rollouts = Vec::new();
        while self.ahead.front().is_some_and(|next| !continues || next.step <= last) {
            let Some(next) = self.ahead.pop_front() else { break };
            let RolloutAhead { step, asked_at, chosen, thread } = next;
            let drawn = thread.join().unwrap_or_else(|_| Err(anyhow!("its thread has panicked")));
            let rollout = gather(&self.mesh, drawn)
                .with_context(|| format!("rollout of step {step}, ahead of it"))?;
            self.waiting.push_ahead(self.drawer.groups(asked_at, &chosen, &rollout));
            rollouts.push(rollout);
        }
        Ok(rollouts)
    }

    /// Reads the saved groups of a step.
    fn replay(
        &mut self,
        files: &SavedRollouts,
        policy: &Policy,
        record: &mut StepRecord,
    ) -> anyhow::Result<StepGroups<QuestionGroup>> {
        let (step, config) = (record.step, self.drawer.run.config());
        let saved: SavedStep<QuestionGroup> = files.read(step)?;
        let prompts = &self.drawer.questions.questions.prompts;
        let model = policy.model.config();
        let bounds = GroupBounds {
            questions: prompts.len(),
            group_size: config.rollout.group_size,
            vocab_size: model.vocab_size,
            routes: RouteShape::of(model),
        };
        for (number, SampledGroup { responses, .. }) in (1..).zip(&saved.sampled.groups) {
            // A harness writes its own prompts.
            let is_asked = config.rollout.environment.is_none();
            let other = || other_prompt(responses, &prompts[responses.question]);
            let fault = responses.fault(bounds).or_else(|| is_asked.then(other).flatten());
            if let Some(fault) = fault {
                anyhow::bail!("{}: group {number}: {fault}", files.path(step).display());
            }
        }
        let (questions, DataCursor { position, .. }) = (prompts.len(), saved.cursor);
        ensure!(
            position <= questions,
            "{}: the run stood at question {position} of its data, which has {questions}",
            files.path(step).display(),
        );
        self.order = QuestionOrder::new(config.seed, questions, saved.cursor);
        self.waiting = saved.waiting;
        if saved.weights != policy.fingerprint() {
            let warning = "the replayed responses were sampled by other weights, so the update is another too; rollout/mismatch_kl \
                 says how far the two are apart";
            record.warnings.push(warning.to_owned());
        }
        Ok(saved.sampled)
    }
}

/// A rollout that a thread waits for.
#[derive(Debug)]
pub(super) struct RolloutAhead {
    /// The later step.
    step: u64,
    /// Step whose weights the servers had when they were asked.
    asked_at: u64,
    /// Questions that were asked, over all ranks.
    chosen: Vec<usize>,
    /// Waits for this rank's responses.
    thread: JoinHandle<anyhow::Result<Rollout>>,
}
