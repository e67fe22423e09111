//! The models that learn in a run: the policy, with its reference and its reward model.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use anyhow::ensure;
use counter_rng::{Purpose, purpose_seed};
use model_files::text_tokenizer::TextTokenizer;
use rl_losses::{KlController, implicit_process_rewards};
use tch::{Device, Kind};
use training_run::config::{Run, RunConfig};
use training_run::metric;
use training_run::schedule::Schedule;

use super::step_record::StepRecord;
use crate::host_memory::Memory;
use crate::training::adamw::AdamW;
use crate::training::adapter::adapted;
use crate::training::policy_pass::{PolicyPass, Sequence, Statistics};
use crate::training::reward_model::RewardModel;
use crate::training::sample::Sample;
use crate::training::scored::{Reference, ScoredRollout};
use crate::training::trainer_state::TrainerState;
use decoder::model::Decoder;
use ranks::{DeviceMesh, Ranks};

#[derive(Debug)]
pub(super) struct Policy {
    pub(super) run: Arc<Run>,
    /// The data-parallel group: ranks with the same part of the model, which split the sequences and sum gradients.
    pub(super) ranks: Ranks,
    pub(super) model: Decoder,
    /// The policy before the run, if the run measures its divergence from it.
    pub(super) reference: Option<Decoder>,
    /// The model that rewards tokens, if the advantages are PRIME's.
    pub(super) reward_model: Option<RewardModel>,
    pub(super) optimizer: AdamW,
    pub(super) schedule: Schedule,
}

impl Policy {
    /// The policy `model`, with its reference and a fresh optimiser; no reward model yet.
    pub(super) fn over(model: Decoder, run: &Arc<Run>, mesh: &DeviceMesh) -> anyhow::Result<Self> {
        let config = run.config();
        model.set_trainable(true);
        let reference = match (config.algorithm.reference_kl, is_base(config)) {
            (None, _) => None,
            (Some(_), true) => Some(model.base()),
            (Some(_), false) => Some(load_reference(config, &model, &mesh.tensor)?),
        };
        let memory = Memory::offloaded(config.parallel.offload_optimizer);
        let optimizer = if mesh.data.count() > 1 && config.parallel.zero.shards_optimizer() {
            AdamW::sharded(memory, &model, &config.optimizer, config.seed, &mesh.data)
        } else {
            AdamW::new_in(memory, &model, &config.optimizer, config.seed)
        };
        Ok(Self {
            run: Arc::clone(run),
            ranks: mesh.data.clone(),
            optimizer,
            schedule: run.schedule(),
            model,
            reference,
            reward_model: None,
        })
    }

    /// Starts the reward model that the run configures, restored from `saved` if it has learnt before.
    pub(super) fn start_reward_model(
        &mut self,
        saved: Option<&Path>,
        state: &mut TrainerState,
    ) -> anyhow::Result<()> {
        let (config, model) = (self.run.config(), &self.model);
        // A model that the policy keeps frozen need not be in memory twice.
        let base = config.lora.as_ref().map(|_| model.base());
        let base = base.as_ref().map(|base| (config.model.path.as_path(), base));
        let reference = self.reference.as_ref();
        let reference = reference.map(|reference| (config.model.reference_path(), reference));
        let in_memory: Vec<_> = base.into_iter().chain(reference).collect();
        let learnt = saved.filter(|_| state.reward_model_updates > 0);
        let (device, kind, vocab_size) = (model.device(), model.kind(), model.config().vocab_size);
        let started = RewardModel::start(&self.run, learnt, device, kind, vocab_size, &in_memory)?;
        self.reward_model = started;
        if !self.reward_model.as_ref().is_some_and(RewardModel::learns) {
            state.reward_model_updates = 0;
        }
        Ok(())
    }

    /// Shards the blocks and their gradients over the ranks, as configured.
    pub(super) fn shard_blocks(&mut self) {
        let config = self.run.config();
        let (zero, is_base) = (config.parallel.zero, is_base(config));
        let Self { ranks, model, optimizer, reference, .. } = self;
        if ranks.count() == 1 || !zero.shards_gradients() {
            return;
        }
        model.shard_gradients(ranks);
        if zero.shards_parameters() {
            model.shard_blocks(ranks, |unit| optimizer.shard_of_unit(unit));
            match reference {
                Some(reference) if is_base => *reference = model.base(),
                Some(reference) => reference.shard_blocks(ranks, |_| None),
                None => {}
            }
        }
        optimizer.hold_blocks(model);
    }

    pub(super) fn pass(&self) -> PolicyPass<'_> {
        PolicyPass::of_run(&self.model, self.run.config())
    }

    /// Fingerprint of the policy's weights; all ranks of the model call it.
    pub(super) fn fingerprint(&self) -> String {
        let _open = self.model.open_blocks();
        self.model.fingerprint()
    }

    /// Computes statistics and advantages of a rollout of `groups`; `kl` has the coefficient of the divergence from the
    /// reference.
    ///
    /// Experts that sampled are replayed in this and all later passes of the policy; where none are recorded, those of this pass are
    /// replayed in later ones. The reference has a router of its own.
    pub(super) fn score(
        &self,
        mut samples: Vec<Sample>,
        groups: usize,
        process_log_ratio: Option<&[f64]>,
        kl: Option<KlController>,
    ) -> anyhow::Result<ScoredRollout> {
        let (old, rerouted_fraction) = self.old_statistics(&mut samples)?;
        let algorithm = &self.run.config().algorithm;
        let reference = match (algorithm.reference_kl, kl, &self.reference) {
            (Some(settings), Some(controller), Some(model)) => {
                let plain = |Sample { sequence, .. }: &Sample| Sequence {
                    routes: None,
                    ..sequence.clone()
                };
                let plain: Vec<Sequence> = samples.iter().map(plain).collect();
                let sequences: Vec<&Sequence> = plain.iter().collect();
                let pass = PolicyPass { model, ..self.pass() };
                let log_prob = pass.statistics_over(&self.ranks, &sequences)?.log_prob;
                Some(Reference { settings, coefficient: controller.coefficient(), log_prob })
            }
            _ => None,
        };
        let estimator = &algorithm.advantage;
        let scored =
            ScoredRollout::new(samples, groups, old, reference, process_log_ratio, estimator)?;
        Ok(ScoredRollout { rerouted_fraction, ..scored })
    }

    /// Statistics of the policy before any update, and the fraction of recorded experts that its router would not have chosen.
    /// Samples without recorded experts get those of this pass.
    fn old_statistics(&self, samples: &mut [Sample]) -> anyhow::Result<(Statistics, Option<f64>)> {
        let estimator = &self.run.config().algorithm.advantage;
        let with_squared_scores = estimator.required_column() == Some("squared_scores");
        let pass = PolicyPass { with_squared_scores, ..self.pass() };
        let is_asked = self.run.config().rollout.routing_replay;
        let is_replayed = is_asked && self.model.config().experts.is_some();
        for sample in samples.iter_mut().filter(|_| !is_replayed) {
            sample.sequence.routes = None;
        }
        let sequences: Vec<&Sequence> = samples.iter().map(|sample| &sample.sequence).collect();
        if !is_replayed {
            return Ok((pass.statistics_over(&self.ranks, &sequences)?, None));
        }
        let (old, used) = pass.statistics_and_routes_over(&self.ranks, &sequences)?;
        let rerouted_fraction = used.rerouted_fraction();
        for (sample, routes) in samples.iter_mut().zip(used.added) {
            if let Some(routes) = routes {
                sample.sequence.routes = Some(routes);
            }
        }
        Ok((old, rerouted_fraction))
    }

    /// Mean entropy of a scored rollout at temperature 1, in nats per token. It takes one more pass unless the run samples at 1.
    pub(super) fn entropy_at_temperature_1(&self, scored: &ScoredRollout) -> anyhow::Result<f64> {
        let pass = self.pass();
        if (pass.temperature - 1.0).abs() > 0.0 {
            let at_1 = PolicyPass { temperature: 1.0, ..pass };
            return Ok(at_1.statistics_over(&self.ranks, &scored.sequences())?.mean_entropy());
        }
        Ok(scored.columns.old.mean_entropy())
    }

    /// Log-ratio of every response token under the reward model to its reference, in nats; `None` without a reward model. The
    /// reward model learns from the verdicts; a warning reports its skipped steps. `updates` counts its optimiser steps and is
    /// increased by those of this step.
    pub(super) fn judge_tokens(
        &mut self,
        samples: &[Sample],
        updates: &mut u64,
        record: &mut StepRecord,
    ) -> anyhow::Result<Option<Vec<f64>>> {
        let config = self.run.config();
        let Some(reward_model) = &mut self.reward_model else { return Ok(None) };
        let started = Instant::now();
        let sequences: Vec<&Sequence> = samples.iter().map(|sample| &sample.sequence).collect();
        let outcomes: Vec<bool> = samples.iter().map(|sample| sample.verdict.is_right()).collect();
        let (ranks, step) = (&self.ranks, record.step);
        let judged = reward_model.judge(ranks, config, &sequences, &outcomes, step, *updates)?;

        let responses = samples.len() as f64;
        let learnt = &judged.learnt;
        let process = implicit_process_rewards(&learnt.log_ratio, reward_model.beta);
        let metrics = &mut record.metrics;
        metrics.insert(metric!("reward_model/loss"), learnt.loss / responses);
        metrics.insert(metric!("reward_model/accuracy"), judged.agreement.accuracy());
        if judged.agreement.pairs > 0 {
            let ordered = judged.agreement.pair_accuracy();
            metrics.insert(metric!("reward_model/pair_accuracy"), ordered);
        }
        metrics.insert(metric!("reward_model/reward"), process.iter().sum::<f64>() / responses);
        if let Some(rate) = judged.learning_rate {
            let norm = learnt.gradient_norm / learnt.updates as f64;
            metrics.insert(metric!("reward_model/grad_norm"), norm);
            metrics.insert(metric!("reward_model/lr"), rate);
            metrics.insert(metric!("reward_model/skipped_updates"), learnt.skipped as f64);
        }
        metrics.insert(metric!("timing_s/reward_model"), started.elapsed().as_secs_f64());
        if learnt.skipped > 0 {
            let warning = format!(
                "the gradient of {} of {} optimiser steps of the reward model was not finite, and they changed nothing",
                learnt.skipped, learnt.updates
            );
            record.warnings.insert(0, warning);
        }
        *updates += learnt.updates as u64;
        Ok(Some(judged.learnt.log_ratio))
    }
}

/// True if the reference is the model below the policy's adapter, which never changes.
fn is_base(config: &RunConfig) -> bool {
    config.lora.is_some() && config.model.reference_path() == config.model.path
}

/// Loads the reference, which scores the tokens of `policy`.
fn load_reference(
    config: &RunConfig,
    policy: &Decoder,
    together: &Ranks,
) -> anyhow::Result<Decoder> {
    let path = config.model.reference_path();
    if path != config.model.path {
        let [tokens, of_policy] = [path, &config.model.path]
            .map(TextTokenizer::load)
            .map(|read| read.map(|it| it.tokens()));
        ensure!(
            tokens? == of_policy?,
            "model.reference is {}: it has other tokens than {}, expected the same",
            path.display(),
            config.model.path.display()
        );
    }
    let reference = Decoder::load_sharded(path, policy.device(), policy.kind(), together)?;
    let (size, expected) = (reference.config().vocab_size, policy.config().vocab_size);
    ensure!(
        size >= expected,
        "model.reference: vocab_size is {size}, expected at least {expected}, the policy's"
    );
    Ok(reference)
}

/// Loads the model of `saved`, or that of the configuration with a fresh adapter if it has one. The model is split over the
/// tensor-parallel ranks `together`.
pub(super) fn load_policy(
    config: &RunConfig,
    saved: Option<&Path>,
    device: Device,
    kind: Kind,
    together: &Ranks,
) -> anyhow::Result<Decoder> {
    let Some(lora) = &config.lora else {
        let path = saved.unwrap_or(&config.model.path);
        return Ok(Decoder::load_sharded(path, device, kind, together)?);
    };
    let model = Decoder::load_sharded(&config.model.path, device, kind, together)?;
    adapted(model, lora, saved, purpose_seed(config.seed, Purpose::Adapter))
}
