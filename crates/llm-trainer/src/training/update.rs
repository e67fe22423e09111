//! The update: mini-batches of a rollout batch, each planned over all its tokens before its backward pass.

use std::fmt::Display;
use std::time::Instant;

use anyhow::anyhow;
use counter_rng::{Purpose, step_rng};
use rayon::prelude::*;
use rl_losses::{
    Aggregation, BatchError, Column, CustomLoss, KlEstimator, LossOutput, LossSums, PolicyLoss,
    Threads, TokenBatch, TokenColumns, entropy_bonus, kl_loss,
};

use super::adamw::{AdamW, StepOutcome};
pub use super::local_shard::Buckets;
use super::local_shard::LocalShard;
use super::policy_pass::{Cotangent, PolicyPass, Sequence, Statistics};
use super::sequence::TokenLayout;
use ranks::Ranks;

/// Seed of the run and number of the step; all noise of a step is a function of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepKey {
    /// Seed of the run.
    pub seed: u64,
    /// Training step, counted from 1; 0 is before the first update.
    pub step: u64,
}

/// One rollout batch as the update sees it, group after group.
#[derive(Debug, Clone)]
pub struct UpdateBatch<'a> {
    /// All sequences.
    pub sequences: Vec<&'a Sequence>,
    /// Columns of their response tokens.
    pub columns: UpdateColumns,
    /// Fraction of tokens that the policy loss selects in each difficulty bucket, in place of its single fraction.
    pub by_difficulty: Option<Buckets>,
    /// Number of sequences per mini-batch.
    pub mini_batch_sequences: usize,
}

/// Columns that an update reads: one value for every response token.
#[derive(Debug, Clone, Default)]
pub struct UpdateColumns {
    /// Statistics before the first update.
    pub old: Statistics,
    /// Advantage.
    pub advantage: Vec<f64>,
    /// Log-probability as sampled, in nats.
    pub rollout_log_prob: Vec<f64>,
    /// Log-probability under the reference, in nats, if there is one.
    pub reference_log_prob: Option<Vec<f64>>,
    /// Log-probability that the ratio is taken to, in nats, if that is not `old`.
    pub sampled_log_prob: Option<Vec<f64>>,
    /// Factor of the token's weight; `None` means 1.
    pub token_weights: Option<Vec<f64>>,
}

impl UpdateColumns {
    /// Log-probability that the ratio is taken to, in nats.
    pub(super) fn old_log_prob(&self) -> &[f64] {
        self.sampled_log_prob.as_ref().unwrap_or(&self.old.log_prob)
    }

    /// The `part` of each column.
    pub(super) fn map(&self, part: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        let optional = |column: &Option<Vec<f64>>| column.as_deref().map(&part);
        Self {
            old: self.old.map(&part),
            advantage: part(&self.advantage),
            rollout_log_prob: part(&self.rollout_log_prob),
            reference_log_prob: optional(&self.reference_log_prob),
            sampled_log_prob: optional(&self.sampled_log_prob),
            token_weights: optional(&self.token_weights),
        }
    }
}

/// Objective that a step's updates minimise.
#[derive(Debug, Clone)]
pub struct Objective {
    /// The policy loss.
    pub policy_loss: PolicyLoss,
    /// Loss that is evaluated in its place, on its selection of tokens.
    pub custom_loss: Option<CustomLoss>,
    /// Aggregation of the tokens' terms to one number.
    pub aggregation: Aggregation,
    /// Weight of the entropy bonus, reward per nat.
    pub entropy_coefficient: f64,
    /// Estimator and coefficient (reward per nat) of the divergence from the reference as a term of the loss.
    pub reference_kl: Option<(KlEstimator, f64)>,
    /// Number of passes over the batch.
    pub epochs: usize,
}

/// Sums over the updates of one step; the reader divides them into means.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpdateSums {
    /// Number of optimiser steps attempted.
    pub updates: usize,
    /// Number of optimiser steps skipped because the gradient was not finite.
    pub skipped: usize,
    /// Number of skipped steps since the last applied one.
    pub skipped_in_a_row: usize,
    /// Sum of the divergences from the reference, before their coefficient, in nats.
    pub kl_loss: f64,
    /// Sum of the policy loss's values, without the entropy bonus.
    pub loss: f64,
    /// Sum of gradient norms before clipping.
    pub gradient_norm: f64,
    /// Token sums of the policy loss.
    pub policy: LossSums,
    /// Wall time of planning (selection and weighting of tokens over all ranks), in seconds.
    pub plan_seconds: f64,
    /// Positions of the tokens that the loss selected in the first epoch, within the batch, ascending.
    pub selected: Vec<usize>,
}

/// Updates the policy by every mini-batch of every epoch, on this rank's part of each mini-batch.
///
/// Every rank passes the same batch. All ranks end with the same parameters, equal to those of a single process up to rounding.
/// `learning_rate` returns the rate of the `n`-th update of this call.
///
/// # Errors
///
/// On every rank if on one: the policy's statistics are not finite, or libtorch refuses.
pub fn update(
    ranks: &Ranks,
    pass: &PolicyPass<'_>,
    optimizer: &mut AdamW,
    objective: &Objective,
    batch: &UpdateBatch<'_>,
    StepKey { seed, step }: StepKey,
    learning_rate: impl Fn(usize) -> f64,
) -> anyhow::Result<UpdateSums> {
    let mut sums = UpdateSums::default();
    let mut selection = step_rng(seed, step, Purpose::TokenSelection);
    let layout = TokenLayout::of(batch.sequences.iter().copied());
    for epoch in 0..objective.epochs {
        let mut first = 0;
        for sequences in batch.sequences.chunks(batch.mini_batch_sequences) {
            let of_batch = first..first + sequences.len();
            let tokens = layout.span(of_batch.clone());
            first += sequences.len();
            if tokens.is_empty() {
                continue;
            }
            let shard = LocalShard::of(pass.model, sequences, ranks);
            let forward = pass.checkpointed_forward(&shard.sequences);
            let columns = batch.columns.map(|column| shard.column(&column[tokens.clone()]));
            // Before the first update the current policy is bit-identical to the old one.
            let current =
                if sums.updates == 0 { columns.old.clone() } else { forward.statistics() };
            pass.model.check_blocks()?;
            let by_difficulty = batch.by_difficulty.as_ref().map(|all| Buckets {
                buckets: all.buckets[of_batch].to_vec(),
                fractions: all.fractions.clone(),
            });
            let (shard, number) = (&shard, sums.updates);
            let mini_batch = MiniBatch { shard, current, columns, by_difficulty, step, number };
            let (cotangent, selected) = mini_batch.descent(objective, &mut selection, &mut sums)?;
            forward.backward(&cotangent)?;
            pass.model.check_blocks()?;
            let outcome = optimizer.step(ranks, learning_rate(sums.updates))?;
            if epoch == 0 {
                let selected = shard.positions(&selected);
                sums.selected.extend(selected.iter().map(|token| tokens.start + token));
            }
            sums.add(outcome);
        }
    }
    sums.over(ranks)
}

impl UpdateSums {
    fn add(&mut self, outcome: StepOutcome) {
        self.updates += 1;
        self.skipped += usize::from(!outcome.applied);
        self.skipped_in_a_row = if outcome.applied { 0 } else { self.skipped_in_a_row + 1 };
        self.gradient_norm += outcome.gradient_norm;
    }

    /// Sums the token sums over all ranks; the other fields are already equal on each.
    fn over(self, ranks: &Ranks) -> anyhow::Result<Self> {
        if ranks.count() == 1 {
            return Ok(self);
        }
        let local = (self.loss, self.kl_loss, self.policy, self.selected);
        let (policy, selected) = (LossSums::default(), Vec::new());
        let mut all = Self { loss: 0.0, kl_loss: 0.0, policy, selected, ..self };
        for (loss, kl_loss, policy, selected) in ranks.gather("sums of the loss", local)? {
            all.loss += loss;
            all.kl_loss += kl_loss;
            all.policy += policy;
            all.selected.extend(selected);
        }
        all.selected.sort_unstable();
        Ok(all)
    }
}

struct MiniBatch<'a> {
    shard: &'a LocalShard<'a>,
    /// Statistics of the policy now.
    current: Statistics,
    columns: UpdateColumns,
    by_difficulty: Option<Buckets>,
    /// Training step, for error messages.
    step: u64,
    /// Mini-batch within the step, counted over all epochs.
    number: usize,
}

impl MiniBatch<'_> {
    /// Plans over all tokens, evaluates the policy loss, and adds the divergence from the reference and the entropy bonus. Returns
    /// the gradient with respect to the statistics of this rank's tokens, and the positions of those that the loss selected. The
    /// values go to `all_sums`.
    fn descent(
        &self,
        objective: &Objective,
        selection: &mut impl rand::Rng,
        all_sums: &mut UpdateSums,
    ) -> anyhow::Result<(Cotangent, Vec<usize>)> {
        let tokens = self.tokens().map_err(|error| self.failure("", error));
        let plan_error = |error| self.failure("", error);
        let Objective { policy_loss: loss, aggregation, .. } = objective;
        let began = Instant::now();
        let buckets = self.by_difficulty.as_ref();
        let (tokens, mut plan) =
            self.shard.plan(loss, tokens, aggregation, buckets, selection, plan_error)?;
        all_sums.plan_seconds += began.elapsed().as_secs_f64();
        if let Some(weights) = &self.columns.token_weights {
            plan.reweight(weights);
        }
        let all_tokens = plan.part(0..tokens.len());
        let LossOutput { value, mut grad_log_prob, sums } = match &objective.custom_loss {
            Some(custom) => custom.evaluate(&tokens, all_tokens),
            None => loss.evaluate(&tokens, all_tokens),
        };
        all_sums.loss += value;
        all_sums.policy += sums;
        let weights = plan.weights();
        if let (Some((estimator, coefficient)), Some(reference)) =
            (objective.reference_kl, &self.columns.reference_log_prob)
        {
            let (value, slopes) =
                kl_loss(estimator, 1.0, &self.current.log_prob, reference, &weights)
                    .map_err(|error| self.failure("divergence from the reference: ", error))?;
            all_sums.kl_loss += value;
            for (total, slope) in grad_log_prob.iter_mut().zip(slopes) {
                *total += coefficient * slope;
            }
        }
        let coefficient = objective.entropy_coefficient;
        let (_bonus, grad_entropy) = entropy_bonus(coefficient, &self.current.entropy, &weights);
        let entropy = (coefficient.abs() > 0.0).then_some(grad_entropy);
        let cotangent = Cotangent { log_prob: grad_log_prob, entropy };
        Ok((cotangent, plan.selected_tokens().to_vec()))
    }

    /// The error of a part of the loss, whose name ends with a colon; empty for the policy loss.
    fn failure(&self, part: &str, error: impl Display) -> anyhow::Error {
        anyhow!("mini-batch {} of step {}: {part}{error}", self.number, self.step)
    }

    fn tokens(&self) -> Result<TokenBatch<'_>, BatchError> {
        let UpdateColumns { old, advantage, rollout_log_prob, .. } = &self.columns;
        let columns = TokenColumns {
            log_prob: &self.current.log_prob,
            old_log_prob: self.columns.old_log_prob(),
            advantage,
        };
        let batch = TokenBatch::new(columns, self.shard.layout.lengths())?
            .with(Column::Entropy, &self.current.entropy)?
            .with(Column::OldEntropy, &old.entropy)?
            .with(Column::RolloutLogProb, rollout_log_prob)?
            .with_threads(Threads::new(rayon::current_num_threads(), |pieces, work| {
                (0..pieces).into_par_iter().for_each(work);
            }));
        match &self.columns.reference_log_prob {
            Some(reference) => batch.with(Column::ReferenceLogProb, reference),
            None => Ok(batch),
        }
    }
}
