//! The training loop of one run.

mod evaluation;
mod preflight;
mod process_rewards;
mod questions;
mod replay;
mod stages;
mod start;
mod tokens;

use std::sync::Arc;
use std::time::{Instant, SystemTime};

use code_sandbox::Sandbox;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TextTokenizer;
use question_data::ground_truth::RewardKinds;
use question_data::prompt::{Prompt, Prompts};
use question_data::question_order::QuestionOrder;
use run_report::run_law::{LawSource, RunLaw};
use run_report::tensorboard::{EventWriter, histogram};
use training_run::config::{Run, RunConfig};
use training_run::dynamic_sampling::GroupSampler;
use training_run::metric;
use training_run::metrics::{MetricsWriter, StepMetrics};
use training_run::resume::Change;
use training_run::run_directory::RunDirectory;
use training_run::schedule::Schedule;

use super::adamw::AdamW;
use super::checkpoint::{self, TrainerState};
use super::external::ExternalEngine;
use super::measurement::{
    Timings, describe_samples, record_rollout, record_traffic, record_update,
};
use super::own_reward::OwnReward;
use super::policy_pass::PolicyPass;
use super::probe::EntropyProbe;
use super::reward_model::RewardModel;
use super::rollout::{Answered, Judge, Sample};
use super::shared_pass::SharedPass;
use crate::generation::{GenerationOptions, kernels_left_out};
use crate::host_memory::Memory;
use crate::model::Decoder;
use crate::ranks::{Grid, Ranks};

pub use preflight::preflight;
pub use replay::RolloutSource;

/// A run in progress.
#[derive(Debug)]
pub struct Trainer {
    run: Run,
    ranks: Ranks,
    /// The same ranks as copies of a model, and parts of each.
    grid: Grid,
    directory: RunDirectory,
    model: Decoder,
    /// The policy before the run, where the run is held to it.
    reference: Option<Decoder>,
    /// What rewards tokens, where the advantages are PRIME's.
    reward_model: Option<RewardModel>,
    tokenizer: TextTokenizer,
    stop_ids: Vec<u32>,
    stop_strings: Option<Arc<StopStrings>>,
    kinds: RewardKinds,
    /// Where programs of responses are run, if any are.
    sandbox: Option<Sandbox>,
    /// The threads that judge responses.
    judges: rayon::ThreadPool,
    rollouts: RolloutSource,
    /// What responses are worth in place of `reward.values`.
    own_reward: Option<OwnReward>,
    /// What samples in place of the policy itself.
    engine: Option<ExternalEngine>,
    notes: Vec<String>,
    optimizer: AdamW,
    schedule: Schedule,
    questions: Prompts,
    held_out: Option<Prompts>,
    order: QuestionOrder,
    /// On the first rank.
    metrics: Option<MetricsWriter>,
    /// On the first rank, where they are wanted.
    events: Option<EventWriter>,
    state: TrainerState,
    /// Groups that wait for a later step.
    sampler: GroupSampler<Answered>,
    /// Entropy and reward so far.
    law: RunLaw,
}

/// What one step came to.
#[derive(Debug, Clone)]
pub struct StepReport {
    /// Everything that was measured; already in `metrics.jsonl`.
    pub metrics: StepMetrics,
    /// Steps in all.
    pub steps: u64,
    /// What a person should know of this step.
    pub warnings: Vec<String>,
    /// How far the run has come: what its reward has cost.
    pub note: Option<String>,
    /// Why the run should end now, if it should.
    pub stop: Option<String>,
}

impl Trainer {
    /// The same run with a reward of one's own in place of `reward.values`, on every rank. Evaluations go by the verdicts.
    #[must_use]
    pub fn with_reward(self, reward: OwnReward) -> Self {
        Self { own_reward: Some(reward), ..self }
    }

    /// Writes what the run goes on with otherwise than before to its folder; `resolved` is its configuration now.
    ///
    /// # Errors
    ///
    /// If a write fails.
    pub fn record_changes(&self, changes: &[Change], resolved: &str) -> anyhow::Result<()> {
        Ok(self.directory.record_changes(self.state.step, changes, resolved, &self.run)?)
    }

    /// Steps done.
    pub fn step(&self) -> u64 {
        self.state.step
    }

    /// What a person should know of the data before the first step: one sentence each.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Which operations of sampling are done by plain operators on CUDA, and why, where a kernel of our own would be faster.
    pub fn kernel_warning(&self) -> Option<String> {
        let own = self.engine.is_none();
        own.then(|| kernels_left_out(&self.model)).flatten()
    }

    /// Whether every step is done.
    pub fn is_finished(&self) -> bool {
        self.state.step >= self.config().training.steps
    }

    /// One step: rollout, rewards, updates, measurements, and a checkpoint where one is due. `phase` is told what
    /// begins, as steps of large models take minutes.
    ///
    /// # Errors
    ///
    /// If generation, the update or a write fails; the run can be resumed from its latest checkpoint.
    pub fn train_step(&mut self, phase: impl Fn(&str)) -> anyhow::Result<StepReport> {
        let step = self.state.step + 1;
        phase("sampling responses");
        let mut timings = Timings::default();
        let started = Instant::now();
        let traffic = self.ranks.traffic();
        let mut metrics = StepMetrics::new(step);
        let (groups, stale) = self.gather(step, &mut timings, &mut metrics, &phase)?;
        let samples: Vec<Sample> =
            groups.iter().flat_map(|group| group.responses.samples.iter().cloned()).collect();

        phase("scoring the responses");
        let mut said = Vec::new();
        let log_ratio = self.judge_tokens(step, &samples, &mut metrics, &mut said)?;
        let prompts: Vec<&Prompt> =
            groups.iter().map(|group| &self.questions.prompts[group.responses.question]).collect();
        let sampled_at: Vec<u64> = groups.iter().map(|group| group.sampled_at).collect();
        let pass_started = Instant::now();
        let scored = self.score(samples, prompts.len(), log_ratio.as_deref())?;
        let scored = scored.with_sampling_steps(&sampled_at, step);
        let scored = scored.with_correction(self.config().rollout.engine.correction())?;
        let sequences = scored.sequences();
        let entropy_at_1 =
            self.shared_pass().mean_entropy_at_temperature_1(&sequences, &scored.old)?;
        metrics.insert(metric!("entropy/at_temperature_1"), entropy_at_1);
        let probe_bytes = self.config().metrics.probe_bytes;
        let probe = EntropyProbe::before(&self.pass(), &sequences, probe_bytes);
        timings.old_log_prob = pass_started.elapsed().as_secs_f64();
        record_rollout(&mut metrics, &scored, self.config());
        // Before the update, so that what made it fail can be read.
        if self.ranks.is_first() {
            let lines = describe_samples(&prompts, &scored.samples, &scored.advantage)?;
            whole_file::write_atomically(&self.directory.step_samples(step), lines.as_bytes())?;
        }

        self.record_tokens(step, &scored, None)?;

        phase("updating the policy");
        let update_started = Instant::now();
        let sums = self.update_policy(&scored)?;
        // Shards are nobody else's; what is gathered of them is the same for all.
        if self.ranks.count() > 1 && !self.config().parallel.zero.shards_parameters() {
            let own = self.model.own_fingerprint();
            self.grid.data.same("the weights after the update", &own)?;
        }
        timings.update = update_started.elapsed().as_secs_f64();
        let last_update = (self.state.updates + sums.updates as u64).saturating_sub(1);
        record_update(&mut metrics, &sums, self.peak_rate() * self.schedule.factor(last_update));
        if let Some(probe) = probe {
            let change = probe.after(&self.pass());
            self.model.check_blocks()?;
            metrics.insert(metric!("entropy/measured_change"), change.measured);
            metrics.insert(metric!("entropy/predicted_change_lemma1"), change.predicted_lemma1);
        }
        timings.step = started.elapsed().as_secs_f64();
        timings.record(&mut metrics, &sequences, self.model.device());
        record_traffic(&mut metrics, &traffic, &self.ranks.traffic());
        self.record_tokens(step, &scored, Some(&sums))?;

        self.state.step = step;
        self.state.updates += sums.updates as u64;
        self.state.cursor = self.order.cursor();
        metrics.insert(metric!("training/global_step"), step as f64);
        metrics.insert(metric!("training/epoch"), self.state.cursor.epoch as f64);
        let (mut warnings, end_reason) = self.control(&scored, &sums, &mut metrics)?;
        warnings.extend(said.into_iter().chain(stale));
        if self.evaluates() && self.run.evaluates_at(step) {
            phase("evaluating");
            self.evaluate(step, &mut metrics, &phase)?;
        }
        let note = self.record_law(&mut metrics);
        let lengths = scored.samples.iter().map(|sample| sample.sequence.response.len() as f64);
        self.write_metrics(&metrics, lengths)?;
        if self.run.saves_at(step) {
            self.save_checkpoint()?;
        }
        let steps = self.config().training.steps;
        Ok(StepReport { metrics, steps, warnings, note, stop: end_reason })
    }

    /// Writes a checkpoint of the present state, unless there is one or nothing to save.
    ///
    /// # Errors
    ///
    /// If a write fails; the latest checkpoint is then the one before.
    pub fn save_now(&self) -> anyhow::Result<()> {
        let latest = self.directory.latest_checkpoint()?.map_or(0, |checkpoint| checkpoint.step);
        // Asked of all ranks: a folder that they share over a network may look older to some.
        let [is_saved] =
            self.ranks.any("whether the step is saved", [latest == self.state.step])?;
        if is_saved { Ok(()) } else { self.save_checkpoint() }
    }

    fn save_checkpoint(&self) -> anyhow::Result<()> {
        let _open = self.model.open_blocks();
        self.model.check_blocks()?;
        let gathered = match self.model.group() {
            Some(_) => Some(self.model.gather_whole(self.ranks.is_first())?),
            None => None,
        };
        let save = || {
            checkpoint::save(
                &self.grid,
                &self.directory,
                (gathered.as_ref().unwrap_or(&self.model), &self.optimizer),
                self.reward_model.as_ref(),
                (&self.state, &self.sampler),
                &self.config().model.path,
                &self.config().checkpoint,
            )
        };
        let saved = if self.ranks.is_first() {
            save()
        } else if self.optimizer.is_sharded() || self.optimizer.is_cut() {
            checkpoint::save_shard(&self.grid, &self.optimizer, None).map(drop)
        } else {
            Ok(())
        };
        self.ranks.agree("whether the checkpoint is written", saved)
    }

    fn fingerprint(&self) -> String {
        let _open = self.model.open_blocks();
        self.model.fingerprint()
    }

    fn write_metrics(
        &mut self,
        metrics: &StepMetrics,
        lengths: impl IntoIterator<Item = f64>,
    ) -> anyhow::Result<()> {
        if let Some(file) = &mut self.metrics {
            file.append(metrics)?;
        }
        if let Some(events) = &mut self.events {
            let lengths =
                histogram(lengths).map(|lengths| ("response_length/distribution", lengths));
            events.append(metrics, lengths.as_slice(), SystemTime::now())?;
        }
        Ok(())
    }

    /// Fits the R–H law to the run so far, this step included; says so after evaluations, or ten times a run.
    fn record_law(&mut self, metrics: &mut StepMetrics) -> Option<String> {
        self.law.push(metrics);
        let outlook = self.law.outlook()?;
        outlook.record(metrics);
        let (step, steps) = (self.state.step, self.config().training.steps);
        let is_due = match self.law.source() {
            LawSource::Evaluations => self.run.evaluates_at(step),
            LawSource::Rewards => step.is_multiple_of((steps / 10).max(1)),
        };
        is_due.then(|| outlook.to_string())
    }

    fn config(&self) -> &RunConfig {
        self.run.config()
    }

    fn generation_options(&self, samples: usize, temperature: f64) -> GenerationOptions {
        GenerationOptions {
            samples,
            max_new_tokens: self.config().rollout.max_response_tokens,
            temperature,
            stop_ids: self.stop_ids.clone(),
            stop_strings: self.stop_strings.clone(),
            rows: self.config().rollout.rows,
            cpu_kernels: self.config().rollout.cpu_kernels,
            ..GenerationOptions::default()
        }
    }

    fn judge(&self) -> anyhow::Result<Judge<'_>> {
        let config = self.config();
        Ok(Judge {
            tokenizer: &self.tokenizer,
            stop_strings: self.stop_strings.as_deref(),
            options: &config.reward.grading,
            kinds: &self.kinds,
            sandbox: self.sandbox.as_ref(),
            pool: Some(&self.judges),
            reward: config.reward.values,
            own: self.own_reward.as_ref(),
            overlong: config.reward.overlong.penalty(config.rollout.max_response_tokens)?,
        })
    }

    fn pass(&self) -> PolicyPass<'_> {
        policy_pass(&self.model, self.config())
    }

    fn shared_pass(&self) -> SharedPass<'_> {
        SharedPass { pass: self.pass(), ranks: &self.grid.data }
    }
}

/// Apart from the trainer, so that its optimiser can be borrowed beside it.
fn policy_pass<'a>(model: &'a Decoder, config: &RunConfig) -> PolicyPass<'a> {
    PolicyPass {
        model,
        temperature: config.rollout.temperature,
        micro_batch_tokens: config.training.micro_batch_tokens,
        activation_bytes: config.training.activation_bytes,
        block_inputs: Memory::offloaded(config.parallel.offload_block_inputs),
    }
}
