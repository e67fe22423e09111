//! The stages of a step: sample, score, update, control.

use anyhow::Context;
use question_data::prompt::Prompt;
use training_run::config::KlPlacement;
use training_run::dynamic_sampling::{Demand, NextBatch, SampledGroup, StepGroups};
use training_run::metric;
use training_run::metrics::StepMetrics;

use super::{Trainer, policy_pass};
use crate::generation::GenerationOptions;
use crate::training::external::Wanted;
use crate::training::measurement::Timings;
use crate::training::policy_pass::{PolicyPass, Sequence, column_of_sequences};
use crate::training::rollout::{Answered, Sample, Sampler, roll_out_by, roll_out_over};
use crate::training::scored::ScoredRollout;
use crate::training::shared_pass::SharedPass;
use crate::training::update::{Objective, UpdateBatch, UpdateSums, update_over};

impl Trainer {
    /// The groups of a step: asked for until enough of them have something to teach, where that is configured.
    pub(super) fn sample(
        &mut self,
        step: u64,
        timings: &mut Timings,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<StepGroups<Answered>> {
        let config = self.run.config();
        let demand = Demand {
            settings: config.dynamic_sampling,
            groups: config.rollout.prompts_per_step,
            group_size: config.rollout.group_size,
        };
        let section = &config.rollout;
        let options = GenerationOptions {
            top_k: section.top_k,
            top_p: section.top_p,
            min_p: section.min_p,
            ..self.generation_options(demand.group_size, section.temperature)
        };
        if let Some(engine) = &mut self.engine {
            phase("sending the weights");
            let source = &self.run.config().model.path;
            engine
                .send_weights(&self.model, source, self.state.updates)
                .with_context(|| format!("weights of step {step}"))?;
        }
        let mut sampler = std::mem::take(&mut self.sampler);
        sampler.begin_step(step, &demand);
        let mut asked = 0;
        while let NextBatch::Ask(count) = sampler.next(&demand) {
            let chosen = self.order.next_batch(count);
            let prompts: Vec<&Prompt> =
                chosen.iter().map(|&index| &self.questions.prompts[index]).collect();
            let keys = (self.config().seed, step);
            let (judge, first) = (self.judge()?, asked as u64);
            let (grid, model) = (&self.grid, &self.model);
            let rollout = match &self.engine {
                None => roll_out_over(grid, model, &prompts, &options, judge, keys, first, phase),
                Some(engine) => {
                    let wanted = Wanted {
                        tokenizer: &self.tokenizer,
                        stop: &self.config().rollout.stop,
                        vocab_size: model.config().vocab_size,
                    };
                    let engine = Sampler::External(engine, wanted);
                    roll_out_by(engine, &prompts, &options, judge, keys, first, phase)
                }
            };
            let rollout = rollout.with_context(|| format!("rollout of step {step}"))?;
            if self.engine.is_some() {
                let (responses, retokenised) = timings.retokenised.unwrap_or_default();
                let own = (responses + rollout.samples.len(), retokenised + rollout.retokenised);
                timings.retokenised = Some(own);
            }
            asked += count;
            timings.generation += rollout.generation_seconds;
            timings.judging += rollout.judging_seconds;
            let drawn = |sample: &Sample| sample.sequence.response.len();
            timings.drawn_tokens += rollout.samples.iter().map(drawn).sum::<usize>();
            // What the verdicts earn: a punished length teaches nothing about the question.
            let earned = self.config().reward.values;
            let is_own = self.own_reward.is_some();
            let worth = |sample: &Sample| {
                if is_own { sample.reward } else { earned.of(&sample.verdict) }
            };
            let of_question = |(&question, samples): (&usize, &[Sample])| SampledGroup {
                rewards: samples.iter().map(worth).collect(),
                right: samples.iter().filter(|sample| sample.verdict.is_right()).count(),
                sampled_at: step,
                responses: Answered { question, samples: samples.to_vec() },
            };
            let groups = chosen.iter().zip(rollout.samples.chunks(demand.group_size));
            sampler.add(groups.map(of_question).collect(), &demand)?;
        }
        let found = sampler.finish_step(&demand)?;
        self.sampler = sampler;
        Ok(found)
    }

    /// Statistics and advantages of a rollout.
    pub(super) fn score(
        &self,
        samples: Vec<Sample>,
        groups: usize,
        process_log_ratio: Option<&[f64]>,
    ) -> anyhow::Result<ScoredRollout> {
        let sequences: Vec<&Sequence> = samples.iter().map(|sample| &sample.sequence).collect();
        let shared = self.shared_pass();
        let old = shared.statistics(&sequences)?;
        let algorithm = &self.config().algorithm;
        let reference = match (algorithm.reference_kl, self.state.kl, &self.reference) {
            (Some(settings), Some(controller), Some(model)) => {
                let pass = PolicyPass { model, ..shared.pass };
                let of_reference = SharedPass { pass, ..shared }.statistics(&sequences)?;
                Some((settings, controller, of_reference.log_prob))
            }
            _ => None,
        };
        let estimator = &algorithm.advantage;
        ScoredRollout::new(samples, groups, old, reference, process_log_ratio, estimator)
    }

    /// Every mini-batch of every epoch of a step, on the samples that take part.
    pub(super) fn update_policy(&mut self, scored: &ScoredRollout) -> anyhow::Result<UpdateSums> {
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
        let mut token_weights = config.reward.overlong.weights(&finished, &lengths);
        if let Some(correction) = &scored.correction {
            let mut importance = of_kept(&correction.weights);
            for (weight, mask) in importance.iter_mut().zip(token_weights.iter().flatten()) {
                *weight *= mask;
            }
            token_weights = Some(importance);
        }
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
        let (ranks, optimizer) = (&self.grid.data, &mut self.optimizer);
        Ok(update_over(ranks, &pass, optimizer, &objective, batch, keys, rate)?)
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
            entropy_coefficient: self
                .state
                .adaptive_entropy
                .map_or(algorithm.entropy_coefficient, |controller| controller.coefficient()),
            reference_kl,
            epochs: algorithm.epochs,
        })
    }

    /// The learning rate at its peak, halved as often as the guard has asked.
    pub(super) fn peak_rate(&self) -> f64 {
        self.config().optimizer.learning_rate * 0.5f64.powi(self.state.back_offs.cast_signed())
    }

    /// Moves the controllers by what the step measured and asks the guards; warnings, and why the run should end.
    pub(super) fn control(
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
        if let Some(controller) = &mut self.state.adaptive_entropy {
            metrics.insert(metric!("actor/entropy_coeff"), controller.coefficient());
            if entropy.is_finite() {
                controller.update(entropy)?;
            }
        }
        metrics.insert(metric!("training/skipped_updates"), sums.skipped as f64);
        let factor = 0.5f64.powi(self.state.back_offs.cast_signed());
        metrics.insert(metric!("control/rate_factor"), factor);
        let guard = self.run.config().guard;
        let samples = self.directory.step_samples(self.state.step);
        Ok(self.state.guard(&guard, entropy, sums, &samples))
    }

    /// Indices of the samples that take part in the update.
    pub(super) fn kept_sequences(&self, informative: &[bool]) -> Vec<usize> {
        let size = self.config().rollout.group_size;
        let drop = self.config().algorithm.drop_uninformative_groups;
        (0..informative.len() * size).filter(|&i| !drop || informative[i / size]).collect()
    }
}
