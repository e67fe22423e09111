//! The training loop of one run.

pub(crate) mod checkpoint;
mod evaluation;
mod policy;
mod preflight;
mod questions;
mod recorder;
mod sampler;
mod start;
mod step_record;
mod update_plan;

use std::sync::Arc;
use std::time::Instant;

use counter_rng::{Purpose, step_rng};
use rl_losses::CustomLoss;
use training_run::config::{Run, RunConfig};
use training_run::dynamic_sampling::SampledGroup;
use training_run::metric;
use training_run::metrics::StepMetrics;
use training_run::resume::Change;

use super::custom_reward::CustomReward;
use super::measurement::{record_played, record_rollout, record_update};
use super::policy_pass::PolicyPass;
use super::probe::EntropyProbe;
use super::sample::{QuestionGroup, Sample};
use super::scored::ScoredRollout;
use super::trainer_state::TrainerState;
use super::update::{StepKey, UpdateSums, update};
use decoder::generation::kernels_left_out;
use policy::Policy;
use ranks::DeviceMesh;
use recorder::{MetricsFeed, Recorder};
use sampler::Sampler;
use step_record::StepRecord;
use update_plan::{UpdatePlan, control};

pub(crate) use preflight::preflight;
pub(crate) use sampler::RolloutSource;

/// A run in progress.
#[derive(Debug)]
pub struct Trainer {
    run: Arc<Run>,
    mesh: DeviceMesh,
    policy: Policy,
    sampler: Sampler,
    recorder: Recorder,
    state: TrainerState,
    /// Loss in place of the configured one.
    custom_loss: Option<CustomLoss>,
    /// Notes for the user about the data before the first step, one sentence each.
    pub(crate) notes: Vec<String>,
}

/// Results of one step.
#[derive(Debug, Clone)]
pub struct StepReport {
    /// All metrics of the step; already written to `metrics.jsonl`.
    pub metrics: StepMetrics,
    /// Number of steps of the run.
    pub steps: u64,
    /// Warnings for the user about this step.
    pub warnings: Vec<String>,
    /// Progress of the run: the entropy that its reward has cost.
    pub note: Option<String>,
    /// Reason why the run should end now, if it should.
    pub stop: Option<String>,
}

impl Trainer {
    /// Replaces `reward.values` by a custom reward, on every rank. Evaluations still use the verdicts.
    ///
    /// # Panics
    ///
    /// If servers sample already: give the reward before the first step.
    #[must_use]
    pub fn with_reward(mut self, reward: CustomReward) -> Self {
        let drawer = Arc::get_mut(&mut self.sampler.drawer).expect("nothing is sampled yet");
        drawer.judge.custom_reward = Some(reward);
        self
    }

    /// Replaces the formula of `algorithm.policy_loss` by a custom loss, on every rank; the selection of tokens stays. Metrics and
    /// checkpoints are as of any run; a run that resumes has to be given the loss again.
    #[must_use]
    pub fn with_loss(mut self, loss: CustomLoss) -> Self {
        self.custom_loss = Some(loss);
        self
    }

    #[must_use]
    pub(crate) fn with_rollouts(mut self, source: RolloutSource) -> Self {
        self.sampler.source = source;
        self
    }

    /// Records the changes with which the run resumes in its folder; `resolved` is its configuration now.
    pub(crate) fn record_changes(&self, changes: &[Change], resolved: &str) -> anyhow::Result<()> {
        let directory = &self.recorder.directory;
        Ok(directory.record_changes(self.state.step, changes, resolved, &*self.run)?)
    }

    /// Number of steps done.
    pub fn step(&self) -> u64 {
        self.state.step
    }

    /// Operations that run as plain operators on CUDA although a kernel of this crate would be faster, with the reason.
    pub(crate) fn kernel_warning(&self) -> Option<String> {
        let is_sampling = self.sampler.drawer.engine.is_none();
        let sampling = is_sampling.then(|| kernels_left_out(&self.policy.model)).flatten();
        sampling.or_else(|| self.policy.optimizer.kernel_warning())
    }

    /// Returns true once every step is done.
    pub fn is_finished(&self) -> bool {
        self.state.step >= self.config().training.steps
    }

    /// Runs one step: rollout, rewards, updates, metrics, and a checkpoint if one is due. `phase` is told each phase as it
    /// begins, as steps of large models take minutes.
    ///
    /// # Errors
    ///
    /// If generation, the update or a write fails; the run can be resumed from its latest checkpoint.
    pub fn train_step(&mut self, phase: impl Fn(&str)) -> anyhow::Result<StepReport> {
        let mut record = StepRecord::begin(self.state.step + 1, &self.mesh.run);

        // Sample a group of responses to each question.
        phase("sampling responses");
        let updates = self.state.updates;
        let groups = self.sampler.sample(&self.policy, updates, &mut record, &phase)?;

        // Reward each response, compare it with its group, and compute log-probabilities before any update.
        // Servers may sample those of a later step while this one updates.
        phase("scoring the responses");
        self.sampler.begin_ahead(record.step)?;
        let scored = self.score(&groups, &mut record)?;

        // Plan: the loss, the responses that take part, and the weight of each of their tokens.
        phase("updating the policy");
        let mut plan = UpdatePlan::new(self.config(), &self.state, &scored)?;
        plan.objective.custom_loss = self.custom_loss.clone();

        // Update by mini-batches: forward pass, loss and its gradient by each token's log-probability, backward pass, optimiser
        // step.
        let sums = self.update(&plan, &scored, &mut record)?;

        // Wait for a later step's responses, if there are any to wait for.
        self.finish_ahead(record.step, &mut record)?;

        // Record: metrics, controllers, and an evaluation and a checkpoint if they are due.
        self.record(&scored, &plan.chosen, &sums, record, &phase)
    }

    /// Waits for the next step's responses, and before a checkpoint for those of all later steps.
    fn finish_ahead(&mut self, step: u64, record: &mut StepRecord) -> anyhow::Result<()> {
        let last = if self.run.saves_at(step) { u64::MAX } else { step + 1 };
        let began = Instant::now();
        for rollout in self.sampler.finish_ahead(last)? {
            record.add_drawn(&rollout, true);
        }
        record.generation += began.elapsed().as_secs_f64();
        Ok(())
    }

    /// Computes rewards, statistics and advantages, and writes them at once: responses that make an update fail can be read.
    fn score(
        &mut self,
        groups: &[SampledGroup<QuestionGroup>],
        record: &mut StepRecord,
    ) -> anyhow::Result<ScoredRollout> {
        let step = record.step;
        let samples: Vec<Sample> =
            groups.iter().flat_map(|group| group.responses.samples.iter().cloned()).collect();
        let updates = &mut self.state.reward_model_updates;
        let log_ratio = self.policy.judge_tokens(&samples, updates, record)?;
        let sampled_at: Vec<u64> = groups.iter().map(|group| group.sampled_at).collect();
        let began = Instant::now();
        let scored = self
            .policy
            .score(samples, groups.len(), log_ratio.as_deref(), self.state.kl)?
            .with_sampling_steps(&sampled_at, step)
            .with_correction(self.config().correction())?;
        if self.config().rollout.staleness > 0 {
            let versions = || scored.samples.iter().flat_map(|sample| &sample.versions);
            let since: u64 =
                versions().map(|version| self.state.updates.saturating_sub(*version)).sum();
            let mean = since as f64 / versions().count() as f64;
            record.metrics.insert(metric!("rollout/staleness"), mean);
        }
        let entropy_at_1 = self.policy.entropy_at_temperature_1(&scored)?;
        record.metrics.insert(metric!("timing_s/old_log_prob"), began.elapsed().as_secs_f64());
        record.metrics.insert(metric!("entropy/at_temperature_1"), entropy_at_1);
        record_rollout(&mut record.metrics, &scored, self.config());
        if self.sampler.drawer.environment.is_some() {
            record_played(&mut record.metrics, &scored, record.dropped.len());
        }
        let questions: Vec<usize> = groups.iter().map(|group| group.responses.question).collect();
        let prompts = self.sampler.drawer.prompts(&questions);
        self.recorder.write_samples(step, &prompts, &scored)?;
        let tokenizer = &self.sampler.drawer.judge.text.tokenizer;
        self.recorder.write_tokens(step, tokenizer, &scored, None)?;
        Ok(scored)
    }

    /// Updates by every mini-batch of every epoch, and measures how this changes the entropy of some states.
    fn update(
        &mut self,
        plan: &UpdatePlan<'_>,
        scored: &ScoredRollout,
        record: &mut StepRecord,
    ) -> anyhow::Result<UpdateSums> {
        let config = self.run.config();
        let (sequences, count) = (scored.sequences(), config.metrics.probe_tokens);
        let rng = &mut step_rng(config.seed, record.step, Purpose::Probe);
        let began = Instant::now();
        let probe = EntropyProbe::before(&self.policy.pass(), &sequences, count, rng);
        record.probe = began.elapsed().as_secs_f64();
        let began = Instant::now();
        let key = StepKey { seed: config.seed, step: record.step };
        let Policy { ranks, model, optimizer, schedule, .. } = &mut self.policy;
        let done = self.state.updates;
        let rate = |n: usize| plan.peak_rate * schedule.factor(done + n as u64);
        let pass = PolicyPass::of_run(model, config);
        let sums = update(ranks, &pass, optimizer, &plan.objective, &plan.batch, key, rate)?;
        self.policy.model.check_copies("the weights after the update", &self.mesh.data)?;
        record.metrics.insert(metric!("timing_s/update_actor"), began.elapsed().as_secs_f64());
        self.state.updates += sums.updates as u64;
        let factor = self.policy.schedule.factor(self.state.updates.saturating_sub(1));
        let metrics = &mut record.metrics;
        record_update(metrics, &sums, plan.peak_rate * factor);
        if let Some(probe) = probe {
            let began = Instant::now();
            let change = probe.after(&self.policy.pass());
            record.probe += began.elapsed().as_secs_f64();
            self.policy.model.check_blocks()?;
            metrics.insert(metric!("entropy/measured_change"), change.measured);
            metrics.insert(metric!("entropy/predicted_change_lemma1"), change.predicted_lemma1);
            metrics.insert(metric!("entropy/probe_tokens"), change.tokens as f64);
        }
        Ok(sums)
    }

    /// Ends the step: advances the state and writes the metrics. `chosen` are the responses that took part in the update.
    fn record(
        &mut self,
        scored: &ScoredRollout,
        chosen: &[usize],
        sums: &UpdateSums,
        mut record: StepRecord,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<StepReport> {
        let (run, step) = (Arc::clone(&self.run), record.step);
        record.end(&self.mesh.run, &scored.sequences(), self.policy.model.device());
        let tokenizer = &self.sampler.drawer.judge.text.tokenizer;
        let selected = Some((chosen, &sums.selected[..]));
        self.recorder.write_tokens(step, tokenizer, scored, selected)?;
        self.state.step = step;
        self.state.cursor = self.sampler.order.cursor();
        record.metrics.insert(metric!("training/global_step"), step as f64);
        record.metrics.insert(metric!("training/epoch"), self.state.cursor.epoch as f64);
        let samples = self.recorder.directory.step_samples(step);
        let state = &mut self.state;
        let end_reason = control(state, run.config(), scored, sums, &samples, &mut record)?;
        if self.sampler.evaluates() && run.evaluates_at(step) {
            phase("evaluating");
            let updates = self.state.updates;
            let warning =
                self.sampler.evaluate(&self.policy, updates, &mut record.metrics, phase)?;
            record.warnings.extend(warning);
        }
        let StepRecord { mut metrics, mut warnings, .. } = record;
        let note = self.recorder.fit_law(&mut metrics);
        self.recorder.write_metrics(&metrics, scored.layout.lengths())?;
        let feed = self.recorder.files.as_mut().and_then(|files| files.feed.as_mut());
        warnings.extend(feed.and_then(MetricsFeed::warning));
        if run.saves_at(step) {
            self.save_checkpoint()?;
        }
        let steps = run.config().training.steps;
        Ok(StepReport { metrics, steps, warnings, note, stop: end_reason })
    }

    /// Measures the untrained policy on the held-out questions, as step 0, if the run evaluates. Returns a warning if there is one.
    ///
    /// # Errors
    ///
    /// If generation or a write fails.
    pub fn evaluate_at_start(&mut self, phase: impl Fn(&str)) -> anyhow::Result<Option<String>> {
        if self.state.step > 0 || !self.sampler.evaluates() {
            return Ok(None);
        }
        phase("evaluating");
        let (mut metrics, updates) = (StepMetrics::new(0), self.state.updates);
        let warning = self.sampler.evaluate(&self.policy, updates, &mut metrics, &phase)?;
        self.recorder.law.push(&metrics);
        self.recorder.write_metrics(&metrics, &[])?;
        Ok(warning)
    }

    /// Writes a checkpoint of the current state, unless there is one already or nothing to save. If a write fails, the latest
    /// checkpoint is the previous one.
    pub(crate) fn save_now(&mut self) -> anyhow::Result<()> {
        self.sampler.finish_ahead(u64::MAX)?;
        let latest = self.recorder.directory.latest_checkpoint()?;
        let latest = latest.map_or(0, |checkpoint| checkpoint.step);
        // All ranks are asked: a folder shared over a network may look older to some.
        let [is_saved] =
            self.mesh.run.any("whether the step is saved", [latest == self.state.step])?;
        if is_saved { Ok(()) } else { self.save_checkpoint() }
    }

    fn config(&self) -> &RunConfig {
        self.run.config()
    }
}
