//! PRIME's implicit process reward model: the tokens' log-ratio to a frozen reference, learnt from outcomes.
//!
//! The loss and its derivative are [`rl_losses::outcome_cross_entropy`]; passes and optimiser are the policy's code.

use std::iter::zip;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use counter_rng::{Purpose, purpose_seed};
use rl_losses::{
    AdvantageEstimator, ColumnError, OutcomeAgreement, OutcomeLoss, outcome_agreement,
    outcome_cross_entropy,
};
use tch::{Device, Kind};
use training_run::config::{RewardModelSection, RewardModelUpdate, Run, RunConfig};
use training_run::run_directory::trainer_file;
use training_run::schedule::Schedule;

use super::adamw::AdamW;
use super::adapter::adapted;
use super::local_shard::LocalShard;
use super::policy_pass::{Cotangent, PolicyPass, Sequence};
use super::sequence::TokenLayout;
use crate::host_memory::Memory;
use decoder::model::Decoder;
use ranks::{RankError, Ranks};

/// Responses of one step with their outcomes.
#[derive(Debug, Clone, Copy)]
pub struct OutcomeBatch<'a> {
    /// All sequences, without [sampling masks](Sequence::mask): a reward model reads the whole vocabulary.
    pub sequences: &'a [&'a Sequence],
    /// True for each correct response, `[sequences]`.
    pub outcomes: &'a [bool],
    /// Log-probability of every response token under the reference, at temperature 1, in nats.
    pub reference_log_prob: &'a [f64],
    /// Number of sequences per optimiser step.
    pub mini_batch_sequences: usize,
}

/// Results of learning; values of a mini-batch are those before its own optimiser step.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Learnt {
    /// Log-ratio of every response token, in nats.
    pub log_ratio: Vec<f64>,
    /// Reward of each whole response: the log-odds that it is correct.
    pub rewards: Vec<f64>,
    /// Sum of the responses' cross-entropies, in nats.
    pub loss: f64,
    /// Number of optimiser steps attempted.
    pub updates: usize,
    /// Number of those steps skipped because the gradient was not finite.
    pub skipped: usize,
    /// Sum of gradient norms before clipping.
    pub gradient_norm: f64,
}

/// Takes one optimiser step per mini-batch, by the mean cross-entropy of its responses, on this rank's part of it.
///
/// Every rank passes the same batch and learns the same. `pass` has temperature 1; `learning_rate` returns the rate of the
/// `n`-th update of this call.
///
/// # Errors
///
/// On every rank if on one: a log-probability is not finite, or libtorch refuses.
pub fn learn_outcomes(
    ranks: &Ranks,
    pass: &PolicyPass<'_>,
    optimizer: &mut AdamW,
    beta: f64,
    batch: OutcomeBatch<'_>,
    step: u64,
    learning_rate: impl Fn(usize) -> f64,
) -> anyhow::Result<Learnt> {
    let mut learnt = Learnt::default();
    let size = batch.mini_batch_sequences;
    for (sequences, outcomes) in batch.sequences.chunks(size).zip(batch.outcomes.chunks(size)) {
        let shard = LocalShard::of(pass.model, sequences, ranks);
        let forward = pass.checkpointed_forward(&shard.sequences);
        let local = forward.statistics().log_prob;
        let log_prob = shard.gather("outcome log-probabilities", &local)?;
        let first = learnt.log_ratio.len();
        let reference = &batch.reference_log_prob[first..first + log_prob.len()];
        let log_ratio = log_ratios(&log_prob, reference);
        let loss = cross_entropy(&log_ratio, sequences, outcomes, beta).map_err(|error| {
            anyhow!("reward model, mini-batch {} of step {step}: {error}", learnt.updates)
        })?;
        learnt.loss += loss.value * sequences.len() as f64;
        learnt.rewards.extend(loss.rewards);
        let has_tokens = !log_ratio.is_empty();
        learnt.log_ratio.extend(log_ratio);
        if has_tokens {
            let log_prob = shard.column(&loss.grad_log_prob);
            forward.backward(&Cotangent { log_prob, entropy: None })?;
            let outcome = optimizer.step(ranks, learning_rate(learnt.updates))?;
            learnt.updates += 1;
            learnt.skipped += usize::from(!outcome.applied);
            learnt.gradient_norm += outcome.gradient_norm;
        }
    }
    Ok(learnt)
}

fn log_ratios(log_prob: &[f64], reference: &[f64]) -> Vec<f64> {
    log_prob.iter().zip(reference).map(|(log_prob, reference)| log_prob - reference).collect()
}

fn cross_entropy(
    log_ratio: &[f64],
    sequences: &[&Sequence],
    outcomes: &[bool],
    beta: f64,
) -> Result<OutcomeLoss, ColumnError> {
    let layout = TokenLayout::of(sequences.iter().copied());
    outcome_cross_entropy(log_ratio, outcomes, layout.lengths(), beta, sequences.len())
}

/// Output of a reward model for one step's responses.
#[derive(Debug)]
pub(super) struct RewardModelOutput {
    /// Agreement of its rewards with the outcomes, before it learnt from them.
    pub(super) agreement: OutcomeAgreement,
    /// Results of learning from them; the log-ratios are those from which the advantages are made.
    pub(super) learnt: Learnt,
    /// Learning rate of its last optimiser step; `None` if it took none.
    pub(super) learning_rate: Option<f64>,
}

#[derive(Debug)]
pub(super) struct RewardModel {
    model: Decoder,
    reference: Decoder,
    /// Optimiser of the reward model; `None` if it does not learn.
    optimizer: Option<AdamW>,
    schedule: Schedule,
    section: RewardModelSection,
    /// `β`: reward per nat.
    pub(super) beta: f64,
}

/// Folder of the reward model within a checkpoint, beside the policy's files.
const FOLDER: &str = "reward_model";

/// File of the reward model's optimiser among the [files of the trainer](trainer_file).
const OPTIMIZER: &str = "reward_model_optimizer.safetensors";

/// Frozen models that are already in memory, with the directories they came from.
type Frozen<'a> = [(&'a Path, &'a Decoder)];

impl RewardModel {
    /// The reward model that a run configures, restored from `checkpoint` if it has learnt before.
    pub(super) fn start(
        run: &Run,
        checkpoint: Option<&Path>,
        device: Device,
        kind: Kind,
        vocab_size: usize,
        in_memory: &Frozen<'_>,
    ) -> anyhow::Result<Option<Self>> {
        let config = run.config();
        let (Some(section), Some(schedule), AdvantageEstimator::Prime(prime)) =
            (&config.reward_model, run.reward_model_schedule(), &config.algorithm.advantage)
        else {
            return Ok(None);
        };
        let load = |path: &Path, in_memory: &Frozen<'_>| {
            known(path, in_memory).map_or_else(|| Decoder::load(path, device, kind), Ok)
        };
        let reference = load(&section.reference, in_memory)?;
        let saved = checkpoint.filter(|_| section.learns());
        let folder = saved.map(|checkpoint| checkpoint.join(FOLDER));
        let seed = purpose_seed(config.seed, Purpose::RewardModel);
        let model = match &config.lora {
            None => Decoder::load(folder.as_deref().unwrap_or(&section.path), device, kind)?,
            Some(lora) => {
                let loaded = [in_memory, &[(section.reference.as_path(), &reference)]].concat();
                let seed = purpose_seed(seed, Purpose::Adapter);
                adapted(load(&section.path, &loaded)?, lora, folder.as_deref(), seed)?
            }
        };
        for (field, model) in [("path", &model), ("reference", &reference)] {
            let size = model.config().vocab_size;
            anyhow::ensure!(
                size >= vocab_size,
                "reward_model.{field}: vocab_size is {size}, expected at least {vocab_size}, the policy's"
            );
        }
        model.set_trainable(section.learns());
        let mut optimizer = section.learns().then(|| {
            let memory = Memory::offloaded(config.parallel.offload_optimizer);
            AdamW::new_in(memory, &model, &section.optimizer, seed)
        });
        if let (Some(checkpoint), Some(optimizer)) = (saved, &mut optimizer) {
            optimizer.restore(&checkpoint.join(trainer_file(OPTIMIZER)))?;
        }
        let (section, beta) = (section.clone(), prime.beta);
        Ok(Some(Self { model, reference, optimizer, schedule, section, beta }))
    }

    pub(super) fn learns(&self) -> bool {
        self.optimizer.is_some()
    }

    /// Adds its model, as a Hugging Face directory, and its optimiser to a checkpoint, if it learns.
    pub(super) fn save(&self, checkpoint: &Path, tokenizer_source: &Path) -> anyhow::Result<()> {
        let Some(optimizer) = &self.optimizer else { return Ok(()) };
        self.model.save(&checkpoint.join(FOLDER), tokenizer_source)?;
        Ok(optimizer.save(&checkpoint.join(trainer_file(OPTIMIZER)))?)
    }

    /// Judges the responses of a step, in groups of equal size, and learns from their outcomes as configured. `done` is the
    /// number of its optimiser steps so far. It reads the whole vocabulary, whatever the sampling masks.
    pub(super) fn judge(
        &mut self,
        ranks: &Ranks,
        config: &RunConfig,
        sequences: &[&Sequence],
        outcomes: &[bool],
        step: u64,
        done: u64,
    ) -> anyhow::Result<RewardModelOutput> {
        let without_mask = |sequence: &&Sequence| sequence.until(sequence.response.len());
        let sequences: Vec<Sequence> = sequences.iter().map(without_mask).collect();
        let sequences: &[&Sequence] = &sequences.iter().collect::<Vec<_>>();
        let reference = pass(&self.reference, config).statistics_over(ranks, sequences)?.log_prob;
        let group_size = config.rollout.group_size;
        let batch = OutcomeBatch {
            sequences,
            outcomes,
            reference_log_prob: &reference,
            mini_batch_sequences: self.section.mini_batch_prompts * group_size,
        };
        let learnt = self.learn(ranks, config, batch, step, done)?;
        let groups = vec![group_size; sequences.len() / group_size];
        let rewards = beyond_rounding(&learnt.rewards, sequences, self.beta, self.model.kind());
        let agreement = outcome_agreement(&rewards, outcomes, &groups)?;
        let last = (done + learnt.updates as u64).checked_sub(1).filter(|_| learnt.updates > 0);
        let peak = self.section.optimizer.learning_rate;
        let learning_rate = last.map(|last| peak * self.schedule.factor(last));
        Ok(RewardModelOutput { agreement, learnt, learning_rate })
    }

    /// Results of learning, if it learns, with the log-ratios from which the advantages are made.
    fn learn(
        &mut self,
        ranks: &Ranks,
        config: &RunConfig,
        batch: OutcomeBatch<'_>,
        step: u64,
        done: u64,
    ) -> anyhow::Result<Learnt> {
        let OutcomeBatch { sequences, outcomes, reference_log_prob, .. } = batch;
        let pass = pass(&self.model, config);
        let score = || {
            let log_prob = pass.statistics_over(ranks, sequences)?.log_prob;
            Ok::<_, RankError>(log_ratios(&log_prob, reference_log_prob))
        };
        let Some(optimizer) = &mut self.optimizer else {
            let log_ratio = score()?;
            let loss = cross_entropy(&log_ratio, sequences, outcomes, self.beta)?;
            let met = loss.value * sequences.len() as f64;
            return Ok(Learnt { log_ratio, rewards: loss.rewards, loss: met, ..Learnt::default() });
        };
        let peak = self.section.optimizer.learning_rate;
        let rate = |n: usize| peak * self.schedule.factor(done + n as u64);
        let mut learnt = learn_outcomes(ranks, &pass, optimizer, self.beta, batch, step, rate)?;
        if self.section.update != RewardModelUpdate::After {
            learnt.log_ratio = score()?;
        }
        Ok(learnt)
    }
}

/// The pass of a model with a run's configuration, at temperature 1.
fn pass<'a>(model: &'a Decoder, config: &RunConfig) -> PolicyPass<'a> {
    PolicyPass { temperature: 1.0, ..PolicyPass::of_run(model, config) }
}

/// Rewards of whole responses, with 0 in place of those within rounding error. A model that still equals its reference knows
/// nothing, even where its sums are taken in another order because its weights are stored elsewhere.
fn beyond_rounding(rewards: &[f64], sequences: &[&Sequence], beta: f64, kind: Kind) -> Vec<f64> {
    // Log-probabilities of models in bf16 are sums in f32 too.
    let epsilon = if kind == Kind::Double { f64::EPSILON } else { f64::from(f32::EPSILON) };
    let of_rounding = |tokens: usize| 16.0 * epsilon * beta * tokens as f64;
    let told = |(&reward, sequence): (&f64, &&Sequence)| {
        if reward.abs() <= of_rounding(sequence.response.len()) { 0.0 } else { reward }
    };
    zip(rewards, sequences).map(told).collect()
}

/// The model of that directory, sharing its memory, if it is already loaded and not sharded over ranks.
fn known(path: &Path, in_memory: &Frozen<'_>) -> Option<Decoder> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| PathBuf::from(path));
    let wanted = real(path);
    let is_known = |(path, model): &&(&Path, &Decoder)| real(path) == wanted && model.is_local();
    in_memory.iter().find(is_known).map(|(_, model)| model.base())
}

#[cfg(test)]
mod tests;
