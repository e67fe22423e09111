//! The update: mini-batches of a rollout batch, each planned over all its tokens before any is differentiated.

use std::borrow::Cow;
use std::time::Instant;

use rayon::prelude::*;
use rl_losses::{
    Aggregation, BatchError, ColumnError, KlEstimator, LossOutput, LossSums, PlanError, PolicyLoss,
    Threads, TokenBatch, TokenColumns, entropy_bonus, kl_loss,
};
use thiserror::Error;
use torch_ext::TorchError;
use trainer_core::counter_rng::{Purpose, step_rng};

use super::adamw::AdamW;
use super::held::Held;
use super::policy_pass::{Cotangent, PolicyPass, Sequence, Statistics};
use crate::ranks::{RankError, Ranks};

/// Why an update failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum UpdateError {
    /// The statistics of a mini-batch do not form a batch, because the model's output is not finite.
    #[error("mini-batch {mini_batch} of step {step}: {source}")]
    Batch {
        /// Training step.
        step: u64,
        /// Mini-batch within the step, all epochs counted.
        mini_batch: usize,
        /// What is wrong with it.
        source: BatchError,
    },
    /// The loss cannot be planned over a mini-batch.
    #[error("mini-batch {mini_batch} of step {step}: {source}")]
    Plan {
        /// Training step.
        step: u64,
        /// Mini-batch within the step, all epochs counted.
        mini_batch: usize,
        /// What the loss misses.
        source: PlanError,
    },
    /// The divergence from the reference is not one.
    #[error("mini-batch {mini_batch} of step {step}: divergence from the reference: {source}")]
    Reference {
        /// Training step.
        step: u64,
        /// Mini-batch within the step, all epochs counted.
        mini_batch: usize,
        /// What is wrong with its columns.
        source: ColumnError,
    },
    /// libtorch refused.
    #[error(transparent)]
    Torch(#[from] TorchError),
    /// The ranks cannot go on together.
    #[error(transparent)]
    Ranks(#[from] RankError),
}

/// One rollout batch as the update sees it; sequences in groups, group after group.
#[derive(Debug, Clone, Copy)]
pub struct UpdateBatch<'a> {
    /// All sequences.
    pub sequences: &'a [&'a Sequence],
    /// Advantage of every response token.
    pub advantage: &'a [f64],
    /// Log-probability of every response token as sampled, in nats.
    pub rollout_log_prob: &'a [f64],
    /// Log-probability of every response token under the reference, in nats, where there is one.
    pub reference_log_prob: Option<&'a [f64]>,
    /// Statistics before the first update, all tokens.
    pub old: &'a Statistics,
    /// Log-probability of every response token under the policy that sampled it, in nats, where that is not `old`.
    pub sampled_log_prob: Option<&'a [f64]>,
    /// What the weight of every response token is multiplied by, where it is not 1.
    pub token_weights: Option<&'a [f64]>,
    /// Sequences of one mini-batch.
    pub mini_batch_sequences: usize,
}

/// What the updates of a step descend.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Objective {
    /// The policy loss.
    pub policy_loss: PolicyLoss,
    /// How the terms of tokens become one number.
    pub aggregation: Aggregation,
    /// Weight of the entropy bonus, reward per nat.
    pub entropy_coefficient: f64,
    /// Estimator and coefficient (reward per nat) of the divergence from the reference as a term of the loss.
    pub reference_kl: Option<(KlEstimator, f64)>,
    /// Passes over the batch.
    pub epochs: usize,
}

/// Sums over the updates of one step; means are taken by the reader.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpdateSums {
    /// Optimiser steps attempted.
    pub updates: usize,
    /// Optimiser steps skipped because the gradient was not finite.
    pub skipped: usize,
    /// Those of them since the last that was not.
    pub skipped_in_a_row: usize,
    /// Sum of the divergences from the reference, before their coefficient, in nats.
    pub kl_loss: f64,
    /// Sum of the policy loss's values, the entropy bonus apart.
    pub loss: f64,
    /// Sum of gradient norms before clipping.
    pub gradient_norm: f64,
    /// Token sums of the policy loss.
    pub policy: LossSums,
    /// Wall time of planning: which tokens are selected and what each weighs, over all ranks.
    pub plan_seconds: f64,
    /// Positions of the tokens that the loss singled out in the first epoch, among those of the batch, ascending.
    pub selected: Vec<usize>,
}

/// Runs every mini-batch of every epoch.
///
/// `learning_rate` answers the rate of the `n`-th update of this call.
///
/// # Errors
///
/// [`UpdateError`] if the policy's statistics are not finite, or libtorch refuses.
pub fn update(
    pass: &PolicyPass<'_>,
    optimizer: &mut AdamW,
    objective: &Objective,
    batch: UpdateBatch<'_>,
    keys: (u64, u64),
    learning_rate: impl Fn(usize) -> f64,
) -> Result<UpdateSums, UpdateError> {
    update_over(&Ranks::single(), pass, optimizer, objective, batch, keys, learning_rate)
}

/// As [`update`], on this rank's part of each mini-batch; every rank passes the same batch, and all end with the same
/// parameters, those of one process but for rounding.
///
/// # Errors
///
/// As [`update`], on every rank if on one.
pub fn update_over(
    ranks: &Ranks,
    pass: &PolicyPass<'_>,
    optimizer: &mut AdamW,
    objective: &Objective,
    batch: UpdateBatch<'_>,
    (seed, step): (u64, u64),
    learning_rate: impl Fn(usize) -> f64,
) -> Result<UpdateSums, UpdateError> {
    let mut sums = UpdateSums::default();
    let mut selection = step_rng(seed, step, Purpose::TokenSelection);
    for epoch in 0..objective.epochs {
        let mut first_token = 0;
        for sequences in batch.sequences.chunks(batch.mini_batch_sequences) {
            let count: usize = sequences.iter().map(|s| s.response.len()).sum();
            let tokens = first_token..first_token + count;
            first_token = tokens.end;
            if tokens.is_empty() {
                continue;
            }
            let held = Held::of(pass.model, sequences, ranks);
            let recording = pass.record(&held.sequences);
            // Before the first update the current policy is the old one, to the bit.
            let current = if sums.updates == 0 {
                held.statistics(batch.old.of_tokens(tokens.clone()))
            } else {
                recording.statistics()
            };
            pass.model.check_blocks()?;
            let part = MiniBatch {
                current: &current,
                old_log_prob: held
                    .column(batch.sampled_log_prob.unwrap_or(&batch.old.log_prob), &tokens),
                token_weights: batch.token_weights.map(|column| held.column(column, &tokens)),
                old_entropy: held.column(&batch.old.entropy, &tokens),
                advantage: held.column(batch.advantage, &tokens),
                rollout_log_prob: held.column(batch.rollout_log_prob, &tokens),
                reference_log_prob: batch
                    .reference_log_prob
                    .map(|column| held.column(column, &tokens)),
                lengths: held.lengths(),
                place: (step, sums.updates),
            };
            let descent = part.descent(objective, &mut selection, &held, ranks)?;
            recording.backward(&descent.cotangent)?;
            pass.model.check_blocks()?;
            let outcome = optimizer.step_over(ranks, learning_rate(sums.updates))?;
            sums.updates += 1;
            sums.skipped += usize::from(!outcome.applied);
            sums.skipped_in_a_row = if outcome.applied { 0 } else { sums.skipped_in_a_row + 1 };
            sums.loss += descent.loss;
            sums.kl_loss += descent.divergence;
            sums.gradient_norm += outcome.gradient_norm;
            sums.policy += descent.sums;
            sums.plan_seconds += descent.plan_seconds;
            if epoch == 0 {
                sums.selected.extend(held.positions(&descent.selected, tokens.start));
            }
        }
    }
    sums.over(ranks)
}

impl UpdateSums {
    /// The same with the sums over tokens of all ranks; the rest is the same on each already.
    fn over(self, ranks: &Ranks) -> Result<Self, UpdateError> {
        if ranks.count() == 1 {
            return Ok(self);
        }
        let own = (self.loss, self.kl_loss, self.policy, self.selected);
        let (policy, selected) = (LossSums::default(), Vec::new());
        let mut all = Self { loss: 0.0, kl_loss: 0.0, policy, selected, ..self };
        for (loss, kl_loss, policy, selected) in ranks.gather("sums of the loss", own)? {
            all.loss += loss;
            all.kl_loss += kl_loss;
            all.policy += policy;
            all.selected.extend(selected);
        }
        all.selected.sort_unstable();
        Ok(all)
    }
}

/// The columns of what this rank holds of one mini-batch.
struct MiniBatch<'a> {
    current: &'a Statistics,
    old_log_prob: Cow<'a, [f64]>,
    old_entropy: Cow<'a, [f64]>,
    advantage: Cow<'a, [f64]>,
    rollout_log_prob: Cow<'a, [f64]>,
    reference_log_prob: Option<Cow<'a, [f64]>>,
    token_weights: Option<Cow<'a, [f64]>>,
    lengths: Vec<usize>,
    /// Training step, and mini-batch within it.
    place: (u64, usize),
}

/// Where a mini-batch pulls its tokens.
struct Descent {
    cotangent: Cotangent,
    /// Value of the policy loss.
    loss: f64,
    /// Divergence from the reference, before its coefficient, in nats.
    divergence: f64,
    sums: LossSums,
    /// Wall time of the plan.
    plan_seconds: f64,
    /// Positions of the tokens that the loss singled out, among those that this rank holds.
    selected: Vec<usize>,
}

impl MiniBatch<'_> {
    /// Plans over all tokens, evaluates the policy loss, and adds the divergence from the reference and the entropy
    /// bonus.
    fn descent(
        &self,
        objective: &Objective,
        selection: &mut impl rand::Rng,
        held: &Held<'_>,
        ranks: &Ranks,
    ) -> Result<Descent, UpdateError> {
        let (step, mini_batch) = self.place;
        let tokens =
            self.columns().map_err(|source| UpdateError::Batch { step, mini_batch, source });
        let loss = &objective.policy_loss;
        let at = |source| UpdateError::Plan { step, mini_batch, source };
        let began = Instant::now();
        let (tokens, mut plan) =
            held.plan(loss, tokens, &objective.aggregation, selection, (ranks, at))?;
        let plan_seconds = began.elapsed().as_secs_f64();
        if let Some(weights) = &self.token_weights {
            plan.reweight(weights);
        }
        let LossOutput { value, mut grad_log_prob, sums } =
            loss.evaluate(&tokens, plan.part(0..tokens.len()));
        let weights = plan.weights();
        let mut divergence = 0.0;
        if let (Some((estimator, coefficient)), Some(reference)) =
            (objective.reference_kl, &self.reference_log_prob)
        {
            let (value, slopes) =
                kl_loss(estimator, 1.0, &self.current.log_prob, reference, &weights)
                    .map_err(|source| UpdateError::Reference { step, mini_batch, source })?;
            divergence = value;
            for (total, slope) in grad_log_prob.iter_mut().zip(slopes) {
                *total += coefficient * slope;
            }
        }
        let coefficient = objective.entropy_coefficient;
        let (_bonus, grad_entropy) = entropy_bonus(coefficient, &self.current.entropy, &weights);
        let entropy = (coefficient.abs() > 0.0).then_some(grad_entropy);
        let cotangent = Cotangent { log_prob: grad_log_prob, entropy };
        let selected = plan.selected_tokens().to_vec();
        Ok(Descent { cotangent, loss: value, divergence, sums, plan_seconds, selected })
    }

    fn columns(&self) -> Result<TokenBatch<'_>, BatchError> {
        let columns = TokenColumns {
            log_prob: &self.current.log_prob,
            old_log_prob: &self.old_log_prob,
            advantage: &self.advantage,
        };
        let batch = TokenBatch::new(columns, &self.lengths)?
            .with_entropy(&self.current.entropy)?
            .with_old_entropy(&self.old_entropy)?
            .with_rollout_log_prob(&self.rollout_log_prob)?
            .with_threads(Threads::new(rayon::current_num_threads(), in_parallel));
        match &self.reference_log_prob {
            Some(reference) => batch.with_reference_log_prob(reference),
            None => Ok(batch),
        }
    }
}

fn in_parallel(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..pieces).into_par_iter().for_each(work);
}
