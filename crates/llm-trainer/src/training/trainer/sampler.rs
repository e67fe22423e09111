//! Samples and rewards the responses of a run, or replays them.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;
use std::thread::JoinHandle;

use anyhow::{Context, anyhow, ensure};
use decoder::generation::{GenerationOptions, SamplingKey};
use decoder::model::Decoder;
use decoder::routes::RouteShape;
use question_data::prompt::Prompt;
use question_data::question_order::{DataCursor, QuestionOrder};
use ranks::DeviceMesh;
use training_run::config::{InFlight, Run, RunConfig};
use training_run::dynamic_sampling::{Demand, GroupSampler, SampledGroup, StepGroups};
use training_run::saved_rollouts::{RolloutOrigin, SavedRollouts, SavedStep};

use super::policy::Policy;
use super::questions::RunQuestions;
use super::step_record::StepRecord;
use crate::training::engine::ExternalEngine;
use crate::training::environment::Environment;
use crate::training::judge::Judge;
use crate::training::rollout::{Engine, Rollout, SamplingPass, asked_share, gather};
use crate::training::sample::{GroupBounds, QuestionGroup, Sample};

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
            let other_prompt = || {
                let (prompt, number) = (&prompts[responses.question], responses.question);
                let differs = |sample: &Sample| sample.sequence.prompt != prompt.tokens;
                // A harness writes its own prompts.
                let is_asked = config.rollout.environment.is_none();
                (is_asked && responses.samples.iter().any(differs)).then(|| {
                    let (id, other) = (&prompt.question.id, "the data or its prompts were others");
                    format!("another prompt than that of question {number}, {id}: {other}")
                })
            };
            let fault = responses.fault(bounds).or_else(other_prompt);
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
    step: u64,
    /// Step whose weights the servers had when they were asked.
    asked_at: u64,
    /// Questions that were asked, over all ranks.
    chosen: Vec<usize>,
    /// Waits for this rank's responses.
    thread: JoinHandle<anyhow::Result<Rollout>>,
}

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
    fn demand(&self) -> Demand {
        let config = self.run.config();
        Demand {
            settings: config.dynamic_sampling,
            groups: config.rollout.prompts_per_step,
            group_size: config.rollout.group_size,
            staleness: config.rollout.staleness,
        }
    }

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

/// Source of a run's responses.
#[derive(Debug, Clone, Default)]
pub(crate) enum RolloutSource {
    #[default]
    Sampled,
    /// Responses are sampled and written to a folder.
    Saved(SavedRollouts),
    /// Responses are read from a folder; only evaluations sample.
    Replayed(SavedRollouts),
}

impl RolloutSource {
    /// The source for the folders given on the command line; at most one is given.
    pub(crate) fn open(
        config: &RunConfig,
        save: Option<&Path>,
        replay: Option<&Path>,
    ) -> anyhow::Result<Self> {
        Ok(match (save, replay) {
            (None, None) => Self::Sampled,
            (Some(folder), _) => {
                Self::Saved(SavedRollouts::create(folder, RolloutOrigin::of(config)?)?)
            }
            (None, Some(folder)) => {
                Self::Replayed(SavedRollouts::open(folder, RolloutOrigin::of(config)?)?)
            }
        })
    }
}
