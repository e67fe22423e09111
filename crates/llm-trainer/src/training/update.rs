//! The update: mini-batches of a rollout batch, each planned over all its tokens before its backward pass.

use std::borrow::Cow;
use std::ops::Range;
use std::time::Instant;

use counter_rng::{Purpose, step_rng};
use rayon::prelude::*;
use rl_losses::{
    Aggregation, BatchError, CustomLoss, KlEstimator, LossOutput, LossSums, PolicyLoss, Threads,
    TokenBatch, TokenColumns, entropy_bonus, kl_loss,
};

use super::adamw::{AdamW, StepOutcome};
pub use super::local_shard::Buckets;
use super::local_shard::LocalShard;
use super::policy_pass::{Cotangent, PolicyPass, Sequence, Statistics};
use super::step_key::StepKey;
use super::token_layout::TokenLayout;
pub use super::update_error::UpdateError;
use ranks::Ranks;

/// One rollout batch as the update sees it, group after group.
#[derive(Debug, Clone, Copy)]
pub struct UpdateBatch<'a> {
    /// All sequences.
    pub sequences: &'a [&'a Sequence],
    /// Advantage of every response token.
    pub advantage: &'a [f64],
    /// Log-probability of every response token as sampled, in nats.
    pub rollout_log_prob: &'a [f64],
    /// Log-probability of every response token under the reference, in nats, if there is one.
    pub reference_log_prob: Option<&'a [f64]>,
    /// Statistics before the first update, for all tokens.
    pub old: &'a Statistics,
    /// Log-probability of every response token that its ratio is taken to, in nats, if that is not `old`.
    pub sampled_log_prob: Option<&'a [f64]>,
    /// Factor of every response token's weight; `None` means 1.
    pub token_weights: Option<&'a [f64]>,
    /// Fraction of tokens that the policy loss selects in each difficulty bucket, in place of its single fraction.
    pub by_difficulty: Option<Buckets<'a>>,
    /// Number of sequences per mini-batch.
    pub mini_batch_sequences: usize,
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
/// [`UpdateError`], on every rank if on one: the policy's statistics are not finite, or libtorch refuses.
pub fn update(
    ranks: &Ranks,
    pass: &PolicyPass<'_>,
    optimizer: &mut AdamW,
    objective: &Objective,
    batch: UpdateBatch<'_>,
    StepKey { seed, step }: StepKey,
    learning_rate: impl Fn(usize) -> f64,
) -> Result<UpdateSums, UpdateError> {
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
            // Before the first update the current policy is bit-identical to the old one.
            let current = if sums.updates == 0 {
                shard.statistics(batch.old.of_tokens(tokens.clone()))
            } else {
                forward.statistics()
            };
            pass.model.check_blocks()?;
            let place = Place { step, mini_batch: sums.updates };
            let by_difficulty = batch.by_difficulty.map(|buckets| buckets.within(of_batch));
            let part = UpdateBatch { by_difficulty, ..batch };
            let mini_batch = MiniBatch::of(part, &tokens, &shard, &current, place);
            let descent = mini_batch.descent(objective, &mut selection)?;
            forward.backward(&descent.cotangent)?;
            pass.model.check_blocks()?;
            let outcome = optimizer.step(ranks, learning_rate(sums.updates))?;
            if epoch == 0 {
                let selected = shard.positions(&descent.selected);
                sums.selected.extend(selected.iter().map(|token| tokens.start + token));
            }
            sums.add(&descent, outcome);
        }
    }
    sums.over(ranks)
}

impl UpdateSums {
    /// Adds one optimiser step.
    fn add(&mut self, descent: &Descent, outcome: StepOutcome) {
        self.updates += 1;
        self.skipped += usize::from(!outcome.applied);
        self.skipped_in_a_row = if outcome.applied { 0 } else { self.skipped_in_a_row + 1 };
        self.loss += descent.loss;
        self.kl_loss += descent.divergence;
        self.gradient_norm += outcome.gradient_norm;
        self.policy += descent.sums;
        self.plan_seconds += descent.plan_seconds;
    }

    /// Sums the token sums over all ranks; the other fields are already equal on each.
    fn over(self, ranks: &Ranks) -> Result<Self, UpdateError> {
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

/// A mini-batch of the run, for error messages.
#[derive(Debug, Clone, Copy)]
struct Place {
    /// Training step.
    step: u64,
    /// Mini-batch within the step, counted over all epochs.
    mini_batch: usize,
}

/// The columns of this rank's shard of one mini-batch.
struct MiniBatch<'a> {
    shard: &'a LocalShard<'a>,
    current: &'a Statistics,
    old_log_prob: Cow<'a, [f64]>,
    old_entropy: Cow<'a, [f64]>,
    advantage: Cow<'a, [f64]>,
    rollout_log_prob: Cow<'a, [f64]>,
    reference_log_prob: Option<Cow<'a, [f64]>>,
    token_weights: Option<Cow<'a, [f64]>>,
    by_difficulty: Option<Buckets<'a>>,
    place: Place,
}

/// Loss of a mini-batch, with its gradient with respect to the statistics of this rank's tokens.
struct Descent {
    cotangent: Cotangent,
    /// Value of the policy loss.
    loss: f64,
    /// Divergence from the reference, before its coefficient, in nats.
    divergence: f64,
    sums: LossSums,
    /// Wall time of planning, in seconds.
    plan_seconds: f64,
    /// Positions of the tokens that the loss selected, among this rank's.
    selected: Vec<usize>,
}

impl<'a> MiniBatch<'a> {
    /// The columns of `shard`; `tokens` is the range of the mini-batch within `batch`.
    fn of(
        batch: UpdateBatch<'a>,
        tokens: &Range<usize>,
        shard: &'a LocalShard<'a>,
        current: &'a Statistics,
        place: Place,
    ) -> Self {
        let column = |column: &'a [f64]| shard.column(&column[tokens.clone()]);
        Self {
            shard,
            current,
            old_log_prob: column(batch.sampled_log_prob.unwrap_or(&batch.old.log_prob)),
            old_entropy: column(&batch.old.entropy),
            advantage: column(batch.advantage),
            rollout_log_prob: column(batch.rollout_log_prob),
            reference_log_prob: batch.reference_log_prob.map(column),
            token_weights: batch.token_weights.map(column),
            by_difficulty: batch.by_difficulty,
            place,
        }
    }

    /// Plans over all tokens, evaluates the policy loss, and adds the divergence from the reference and the entropy
    /// bonus.
    fn descent(
        &self,
        objective: &Objective,
        selection: &mut impl rand::Rng,
    ) -> Result<Descent, UpdateError> {
        let Place { step, mini_batch } = self.place;
        let tokens =
            self.columns().map_err(|source| UpdateError::Batch { step, mini_batch, source });
        let loss = &objective.policy_loss;
        let plan_error = |source| UpdateError::Plan { step, mini_batch, source };
        let began = Instant::now();
        let (by_difficulty, aggregation) = (self.by_difficulty, &objective.aggregation);
        let (tokens, mut plan) =
            self.shard.plan(loss, tokens, aggregation, by_difficulty, selection, plan_error)?;
        let plan_seconds = began.elapsed().as_secs_f64();
        if let Some(weights) = &self.token_weights {
            plan.reweight(weights);
        }
        let all_tokens = plan.part(0..tokens.len());
        let LossOutput { value, mut grad_log_prob, sums } = match &objective.custom_loss {
            Some(custom) => custom.evaluate(&tokens, all_tokens),
            None => loss.evaluate(&tokens, all_tokens),
        };
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
        let batch = TokenBatch::new(columns, self.shard.layout.lengths())?
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
