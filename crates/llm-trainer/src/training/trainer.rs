//! The training loop of one run.

use std::time::Instant;

use anyhow::Context;
use tch::Kind;
use trainer_core::arithmetic::Split;
use trainer_core::chat_template::ChatTemplate;
use trainer_core::config::{Dtype, KlPlacement, Run, RunConfig};
use trainer_core::counter_rng::{Purpose, purpose_seed};
use trainer_core::dynamic_sampling::{Demand, GroupSampler, NextBatch, SampledGroup};
use trainer_core::metric;
use trainer_core::metrics::{MetricName, MetricsWriter, StepMetrics, read_metrics};
use trainer_core::prompt::{Prompt, Prompts};
use trainer_core::question_order::QuestionOrder;
use trainer_core::run_directory::RunDirectory;
use trainer_core::schedule::Schedule;
use trainer_core::text_tokenizer::TextTokenizer;

use super::adamw::AdamW;
use super::checkpoint::{self, TrainerState};
use super::measurement::{
    Timings, describe_samples, law_of_history, record_rollout, record_update,
};
use super::policy_pass::{PolicyPass, Sequence, column_of_sequences};
use super::probe::EntropyProbe;
use super::rollout::{Answered, Judge, Sample, roll_out};
use super::scored::ScoredRollout;
use super::update::{Objective, UpdateBatch, UpdateSums, update};
use crate::generation::GenerationOptions;
use crate::model::Decoder;

/// A run in progress.
#[derive(Debug)]
pub struct Trainer {
    run: Run,
    directory: RunDirectory,
    model: Decoder,
    /// The policy before the run, where the run is held to it.
    reference: Option<Decoder>,
    tokenizer: TextTokenizer,
    stop_ids: Vec<u32>,
    optimizer: AdamW,
    schedule: Schedule,
    questions: Prompts,
    held_out: Option<Prompts>,
    order: QuestionOrder,
    metrics: MetricsWriter,
    state: TrainerState,
    /// Groups that wait for a later step.
    sampler: GroupSampler<Answered>,
    /// `(entropy, reward)` of every step so far, for the R–H law.
    history: Vec<(f64, f64)>,
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
    /// Why the run should end now, if it should.
    pub stop: Option<String>,
}

impl Trainer {
    /// Starts a new run in the folder that `create` makes once nothing else can be wrong, or goes on with the one
    /// `begun` before after its latest checkpoint.
    ///
    /// # Errors
    ///
    /// If the model, the data or the run directory cannot be used; each names file, field and what was expected.
    pub fn start(
        run: Run,
        begun: Option<RunDirectory>,
        create: impl FnOnce(&Run) -> anyhow::Result<RunDirectory>,
    ) -> anyhow::Result<Self> {
        let config = run.config();
        crate::device::set_threads(config.model.threads)?;
        let device = crate::device::resolve(config.model.device)?;
        let kind = match config.model.dtype {
            Dtype::F32 => Kind::Float,
            Dtype::Bf16 => Kind::BFloat16,
        };
        let tokenizer = TextTokenizer::load(&config.model.path)?;
        let stop_ids = tokenizer.eos_ids(&config.model.path)?;
        let chat_template = ChatTemplate::load(&config.model.path)?;
        let prompts = |questions| {
            config.data.prompt.prompts(
                questions,
                &tokenizer,
                chat_template.as_ref(),
                config.data.max_prompt_tokens,
                config.data.over_long_prompts,
            )
        };
        let questions = prompts(config.data.train.questions(Split::Train)?)?;
        let held_out = match &config.data.evaluation {
            Some(source) => {
                let mut questions = source.questions(Split::HeldOut)?;
                if config.evaluation.questions > 0 {
                    questions.truncate(config.evaluation.questions);
                }
                Some(prompts(questions)?)
            }
            None => None,
        };

        let resumed = match &begun {
            Some(directory) => directory.latest_checkpoint()?,
            None => None,
        };
        let source =
            resumed.as_ref().map_or(config.model.path.as_path(), |checkpoint| &checkpoint.path);
        let model = Decoder::load(source, device, kind)?;
        tokenizer.check_vocabulary(model.config().vocab_size)?;
        model.set_trainable(true);
        let reference = match config.algorithm.reference_kl {
            Some(_) => Some(Decoder::load(&config.model.path, device, kind)?),
            None => None,
        };
        let mut optimizer = AdamW::new(&model, &config.optimizer);
        let directory = match begun {
            Some(directory) => directory,
            None => create(&run)?,
        };
        let mut sampler = GroupSampler::default();
        let (state, metrics, history) = match &resumed {
            None => {
                // A run that was cut off before its first checkpoint begins again.
                let metrics = directory.metrics();
                if metrics.exists() {
                    std::fs::remove_file(&metrics)
                        .with_context(|| metrics.display().to_string())?;
                }
                (TrainerState::default(), MetricsWriter::create(&metrics)?, Vec::new())
            }
            Some(checkpoint) => {
                let state;
                (state, sampler) = checkpoint::restore(&checkpoint.path, &mut optimizer)?;
                let metrics = MetricsWriter::resume(&directory.metrics(), state.step)?;
                (state, metrics, law_of_history(&read_metrics(&directory.metrics())?))
            }
        };
        let state = state.with_controllers(&config.algorithm)?;
        let order = QuestionOrder::new(config.seed, questions.prompts.len(), state.cursor);
        Ok(Self {
            directory,
            model,
            reference,
            tokenizer,
            stop_ids,
            optimizer,
            schedule: run.schedule(),
            questions,
            held_out,
            order,
            metrics,
            state,
            sampler,
            history,
            run,
        })
    }

    /// Steps done.
    pub fn step(&self) -> u64 {
        self.state.step
    }

    /// Whether every step is done.
    pub fn is_finished(&self) -> bool {
        self.state.step >= self.config().training.steps
    }

    /// Measures the untrained policy on the held-out questions, as step 0, if the run evaluates at all.
    ///
    /// # Errors
    ///
    /// If generation or a write fails.
    pub fn evaluate_at_start(&mut self, phase: impl Fn(&str)) -> anyhow::Result<()> {
        if self.state.step == 0 && self.evaluates() {
            phase("evaluating");
            let mut metrics = StepMetrics::new(0);
            self.evaluate(0, &mut metrics)?;
            self.metrics.append(&metrics)?;
        }
        Ok(())
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
        let mut metrics = StepMetrics::new(step);
        let groups = self.sample(step, &mut timings, &mut metrics)?;
        let prompts: Vec<&Prompt> =
            groups.iter().map(|group| &self.questions.prompts[group.responses.question]).collect();
        let sampled_at: Vec<u64> = groups.iter().map(|group| group.sampled_at).collect();
        let samples: Vec<Sample> =
            groups.iter().flat_map(|group| group.responses.samples.iter().cloned()).collect();

        phase("scoring the responses");
        let pass_started = Instant::now();
        let scored = self.score(samples, prompts.len())?.with_sampling_steps(&sampled_at, step);
        let sequences = scored.sequences();
        let entropy_at_1 = self.pass().mean_entropy_at_temperature_1(&sequences, &scored.old);
        metrics.insert(metric!("entropy/at_temperature_1"), entropy_at_1);
        let probe_bytes = self.config().metrics.probe_bytes;
        let probe = EntropyProbe::before(&self.pass(), &sequences, probe_bytes);
        timings.old_log_prob = pass_started.elapsed().as_secs_f64();
        record_rollout(&mut metrics, &scored, self.config());
        // Before the update, so that what made it fail can be read.
        let lines = describe_samples(&prompts, &scored.samples, &scored.advantage)?;
        trainer_core::atomic_write::write_atomically(
            &self.directory.step_samples(step),
            lines.as_bytes(),
        )?;

        phase("updating the policy");
        let update_started = Instant::now();
        let sums = self.update_policy(&scored)?;
        timings.update = update_started.elapsed().as_secs_f64();
        let last_update = (self.state.updates + sums.updates as u64).saturating_sub(1);
        record_update(&mut metrics, &sums, self.peak_rate() * self.schedule.factor(last_update));
        if let Some(probe) = probe {
            let change = probe.after(&self.pass());
            metrics.insert(metric!("entropy/measured_change"), change.measured);
            metrics.insert(metric!("entropy/predicted_change_lemma1"), change.predicted_lemma1);
        }
        record_law(&mut self.history, &mut metrics);
        timings.step = started.elapsed().as_secs_f64();
        timings.record(&mut metrics, &sequences);

        self.state.step = step;
        self.state.updates += sums.updates as u64;
        self.state.cursor = self.order.cursor();
        metrics.insert(metric!("training/global_step"), step as f64);
        metrics.insert(metric!("training/epoch"), self.state.cursor.epoch as f64);
        let (warnings, end_reason) = self.control(&scored, &sums, &mut metrics)?;
        if self.evaluates() && self.run.evaluates_at(step) {
            phase("evaluating");
            self.evaluate(step, &mut metrics)?;
        }
        self.metrics.append(&metrics)?;
        if self.run.saves_at(step) {
            self.save_checkpoint()?;
        }
        Ok(StepReport { metrics, steps: self.config().training.steps, warnings, stop: end_reason })
    }

    /// Writes a checkpoint of the present state, unless there is one or nothing to save.
    ///
    /// # Errors
    ///
    /// If a write fails; the latest checkpoint is then the one before.
    pub fn save_now(&self) -> anyhow::Result<()> {
        let latest = self.directory.latest_checkpoint()?.map_or(0, |checkpoint| checkpoint.step);
        if latest == self.state.step { Ok(()) } else { self.save_checkpoint() }
    }

    fn save_checkpoint(&self) -> anyhow::Result<()> {
        checkpoint::save(
            &self.directory,
            &self.model,
            &self.optimizer,
            (&self.state, &self.sampler),
            &self.config().model.path,
            &self.config().checkpoint,
        )
    }

    /// The groups of a step: asked for until enough of them have something to teach, where that is configured.
    fn sample(
        &mut self,
        step: u64,
        timings: &mut Timings,
        metrics: &mut StepMetrics,
    ) -> anyhow::Result<Vec<SampledGroup<Answered>>> {
        let config = self.run.config();
        let demand = Demand {
            settings: config.dynamic_sampling,
            groups: config.rollout.prompts_per_step,
            group_size: config.rollout.group_size,
        };
        let options = self.generation_options(demand.group_size, config.rollout.temperature);
        let mut sampler = std::mem::take(&mut self.sampler);
        sampler.begin_step(step, &demand);
        let mut asked = 0;
        while let NextBatch::Ask(count) = sampler.next(&demand) {
            let chosen = self.order.next_batch(count);
            let prompts: Vec<&Prompt> =
                chosen.iter().map(|&index| &self.questions.prompts[index]).collect();
            let keys = (self.config().seed, step);
            let rollout =
                roll_out(&self.model, &prompts, &options, self.judge()?, keys, asked as u64)
                    .with_context(|| format!("rollout of step {step}"))?;
            asked += count;
            timings.generation += rollout.generation_seconds;
            timings.judging += rollout.judging_seconds;
            // What the verdicts earn: a punished length teaches nothing about the question.
            let earned = self.config().reward.values;
            let of_question = |(&question, samples): (&usize, &[Sample])| SampledGroup {
                rewards: samples.iter().map(|sample| earned.of(&sample.verdict)).collect(),
                right: samples.iter().filter(|sample| sample.verdict.is_right()).count(),
                sampled_at: step,
                responses: Answered { question, samples: samples.to_vec() },
            };
            let groups = chosen.iter().zip(rollout.samples.chunks(demand.group_size));
            sampler.add(groups.map(of_question).collect(), &demand)?;
        }
        let found = sampler.finish_step(&demand)?;
        if demand.settings.enabled {
            found.statistics.record(metrics);
        }
        self.sampler = sampler;
        Ok(found.groups)
    }

    /// Statistics and advantages of a rollout.
    fn score(&self, samples: Vec<Sample>, groups: usize) -> anyhow::Result<ScoredRollout> {
        let sequences: Vec<&Sequence> = samples.iter().map(|sample| &sample.sequence).collect();
        let pass = self.pass();
        let old = pass.statistics(&sequences);
        let algorithm = &self.config().algorithm;
        let reference = match (algorithm.reference_kl, self.state.kl, &self.reference) {
            (Some(settings), Some(controller), Some(model)) => {
                let log_prob = PolicyPass { model, ..pass }.statistics(&sequences).log_prob;
                Some((settings, controller, log_prob))
            }
            _ => None,
        };
        ScoredRollout::new(samples, groups, old, reference, &algorithm.advantage)
    }

    /// Every mini-batch of every epoch of a step, on the samples that take part.
    fn update_policy(&mut self, scored: &ScoredRollout) -> anyhow::Result<UpdateSums> {
        let objective = self.objective()?;
        let kept = self.kept_sequences(&scored.informative);
        let peak = self.peak_rate();
        let config = self.run.config();
        let sequences = scored.sequences();
        let kept_sequences: Vec<&Sequence> = kept.iter().map(|&i| sequences[i]).collect();
        let samples = &scored.samples;
        let drawn: Vec<f64> =
            samples.iter().flat_map(|sample| sample.rollout_log_prob.iter().copied()).collect();
        let of_kept = |column: &[f64]| column_of_sequences(column, &sequences, &kept);
        let reference_log_prob = scored.reference_log_prob.as_deref().map(of_kept);
        let sampled_log_prob = scored.sampled_log_prob.as_deref().map(of_kept);
        let finished: Vec<bool> = kept.iter().map(|&i| !samples[i].truncated).collect();
        let lengths: Vec<usize> = kept_sequences.iter().map(|s| s.response.len()).collect();
        let token_weights = config.reward.overlong.weights(&finished, &lengths);
        let batch = UpdateBatch {
            sequences: &kept_sequences,
            advantage: &of_kept(&scored.advantage),
            rollout_log_prob: &of_kept(&drawn),
            reference_log_prob: reference_log_prob.as_deref(),
            sampled_log_prob: sampled_log_prob.as_deref(),
            token_weights: token_weights.as_deref(),
            old: &scored.old.of_sequences(&sequences, &kept),
            mini_batch_sequences: config.algorithm.mini_batch_prompts * config.rollout.group_size,
        };
        let pass = policy_pass(&self.model, config);
        let (schedule, done) = (&self.schedule, self.state.updates);
        let keys = (config.seed, self.state.step + 1);
        let rate = |n: usize| peak * schedule.factor(done + n as u64);
        Ok(update(&pass, &mut self.optimizer, &objective, batch, keys, rate)?)
    }

    /// What this step descends: the configured loss, with the thermostat's knob where there is one.
    fn objective(&self) -> anyhow::Result<Objective> {
        let algorithm = &self.config().algorithm;
        let policy_loss = match (&algorithm.thermostat, &self.state.thermostat) {
            (Some(section), Some(thermostat)) => {
                section.knob.set(&algorithm.policy_loss, thermostat.knob())?
            }
            _ => algorithm.policy_loss,
        };
        let in_loss =
            algorithm.reference_kl.filter(|settings| settings.placement == KlPlacement::Loss);
        let reference_kl = in_loss
            .zip(self.state.kl)
            .map(|(settings, controller)| (settings.estimator, controller.coefficient()));
        Ok(Objective {
            policy_loss,
            aggregation: algorithm.aggregation,
            entropy_coefficient: algorithm.entropy_coefficient,
            reference_kl,
            epochs: algorithm.epochs,
        })
    }

    /// The learning rate at its peak, halved as often as the guard has asked.
    fn peak_rate(&self) -> f64 {
        self.config().optimizer.learning_rate * 0.5f64.powi(self.state.back_offs.cast_signed())
    }

    /// Moves the controllers by what the step measured and asks the guards; warnings, and why the run should end.
    fn control(
        &mut self,
        scored: &ScoredRollout,
        sums: &UpdateSums,
        metrics: &mut StepMetrics,
    ) -> anyhow::Result<(Vec<String>, Option<String>)> {
        let algorithm = &self.run.config().algorithm;
        if let (Some(settings), Some(controller)) = (algorithm.reference_kl, &mut self.state.kl) {
            metrics.insert(metric!("actor/kl_coef"), controller.coefficient());
            if settings.placement == KlPlacement::Loss {
                metrics.insert(metric!("actor/kl_loss"), sums.kl_loss / sums.updates as f64);
            }
            scored.move_coefficient(settings, controller)?;
        }
        let entropy = metrics.get("actor/entropy").unwrap_or(f64::NAN);
        if let Some(thermostat) = &mut self.state.thermostat {
            metrics.insert(metric!("control/knob"), thermostat.knob());
            metrics.insert(metric!("control/target_entropy"), thermostat.target());
            if entropy.is_finite() {
                thermostat.update(entropy)?;
            }
            let saturated = thermostat.saturated_steps() as f64;
            metrics.insert(metric!("control/saturated_steps"), saturated);
        }
        metrics.insert(metric!("training/skipped_updates"), sums.skipped as f64);
        let factor = 0.5f64.powi(self.state.back_offs.cast_signed());
        metrics.insert(metric!("control/rate_factor"), factor);
        let guard = self.run.config().guard;
        let samples = self.directory.step_samples(self.state.step);
        Ok(self.state.guard(&guard, entropy, sums, &samples))
    }

    fn config(&self) -> &RunConfig {
        self.run.config()
    }

    /// Indices of the samples that take part in the update.
    fn kept_sequences(&self, informative: &[bool]) -> Vec<usize> {
        let size = self.config().rollout.group_size;
        let drop = self.config().algorithm.drop_uninformative_groups;
        (0..informative.len() * size).filter(|&i| !drop || informative[i / size]).collect()
    }

    fn evaluates(&self) -> bool {
        self.held_out.is_some() && self.config().evaluation.every > 0
    }

    fn evaluate(&self, step: u64, metrics: &mut StepMetrics) -> anyhow::Result<()> {
        let Some(held_out) = &self.held_out else { return Ok(()) };
        let settings = &self.config().evaluation;
        let prompts: Vec<&Prompt> = held_out.prompts.iter().collect();
        let options = self.generation_options(settings.samples, settings.temperature);
        let noise = (purpose_seed(self.config().seed, Purpose::Evaluation), step);
        let samples = roll_out(&self.model, &prompts, &options, self.judge()?, noise, 0)
            .with_context(|| format!("evaluation after step {step}"))?
            .samples;
        let mut sources: Vec<&str> = prompts.iter().map(|p| p.question.source.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        for source in sources {
            let of_source = prompts
                .iter()
                .zip(samples.chunks(settings.samples))
                .filter(|(prompt, _)| prompt.question.source == source)
                .flat_map(|(_, group)| group);
            let verdicts: Vec<bool> =
                of_source.map(|sample: &Sample| sample.verdict.is_right()).collect();
            let right = verdicts.iter().filter(|&&right| right).count();
            metrics.insert(
                MetricName::validation_accuracy(source, settings.samples),
                right as f64 / verdicts.len() as f64,
            );
        }
        Ok(())
    }

    fn generation_options(&self, samples: usize, temperature: f64) -> GenerationOptions {
        GenerationOptions {
            samples,
            max_new_tokens: self.config().rollout.max_response_tokens,
            temperature,
            stop_ids: self.stop_ids.clone(),
            rows: self.config().rollout.rows,
            ..GenerationOptions::default()
        }
    }

    fn judge(&self) -> anyhow::Result<Judge<'_>> {
        let config = self.config();
        Ok(Judge {
            tokenizer: &self.tokenizer,
            options: &config.reward.grading,
            reward: config.reward.values,
            overlong: config.reward.overlong.penalty(config.rollout.max_response_tokens)?,
        })
    }

    fn pass(&self) -> PolicyPass<'_> {
        policy_pass(&self.model, self.config())
    }
}

/// Apart from the trainer, so that its optimiser can be borrowed beside it.
fn policy_pass<'a>(model: &'a Decoder, config: &RunConfig) -> PolicyPass<'a> {
    PolicyPass {
        model,
        temperature: config.rollout.temperature,
        micro_batch_tokens: config.training.micro_batch_tokens,
        activation_bytes: config.training.activation_bytes,
    }
}

/// Fits the R–H law to all steps so far, this one included.
fn record_law(history: &mut Vec<(f64, f64)>, metrics: &mut StepMetrics) {
    history.extend(metrics.get("actor/entropy").zip(metrics.get("critic/rewards/mean")));
    let (entropy, reward): (Vec<f64>, Vec<f64>) = history.iter().copied().unzip();
    // Too few points, or all alike, have no law; the metrics are then absent.
    if let Ok(law) = entropy_core::PerformanceLaw::fit(&entropy, &reward) {
        metrics.insert(metric!("law/a"), law.a);
        metrics.insert(metric!("law/b"), law.b);
        metrics.insert(metric!("law/ceiling"), law.ceiling());
        metrics.insert(metric!("law/r_squared"), law.r_squared.unwrap_or(f64::NAN));
    }
}
