//! The update: mini-batches of a rollout batch, each planned over all its tokens before any is differentiated.

use rl_losses::{BatchError, LossSums, PlanError, TokenBatch, TokenColumns, entropy_bonus};
use thiserror::Error;
use torch_ext::TorchError;
use trainer_core::config::AlgorithmSection;
use trainer_core::counter_rng::{Purpose, step_rng};

use super::adamw::AdamW;
use super::policy_pass::{Cotangent, PolicyPass, Sequence, Statistics};

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
    /// libtorch refused.
    #[error(transparent)]
    Torch(#[from] TorchError),
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
    /// Statistics before the first update, all tokens.
    pub old: &'a Statistics,
    /// Sequences of one mini-batch.
    pub mini_batch_sequences: usize,
}

/// Sums over the updates of one step; means are taken by the reader.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UpdateSums {
    /// Optimiser steps attempted.
    pub updates: usize,
    /// Optimiser steps skipped because the gradient was not finite.
    pub skipped: usize,
    /// Sum of the policy loss's values, the entropy bonus apart.
    pub loss: f64,
    /// Sum of gradient norms before clipping.
    pub gradient_norm: f64,
    /// Token sums of the policy loss.
    pub policy: LossSums,
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
    algorithm: &AlgorithmSection,
    batch: UpdateBatch<'_>,
    (seed, step): (u64, u64),
    learning_rate: impl Fn(usize) -> f64,
) -> Result<UpdateSums, UpdateError> {
    let mut sums = UpdateSums::default();
    let mut selection = step_rng(seed, step, Purpose::TokenSelection);
    for _ in 0..algorithm.epochs {
        let mut first_token = 0;
        for sequences in batch.sequences.chunks(batch.mini_batch_sequences) {
            let lengths: Vec<usize> = sequences.iter().map(|s| s.response.len()).collect();
            let tokens = first_token..first_token + lengths.iter().sum::<usize>();
            first_token = tokens.end;
            if tokens.is_empty() {
                continue;
            }
            let recording = pass.record(sequences);
            // Before the first update the current policy is the old one, to the bit.
            let current = if sums.updates == 0 {
                batch.old.of_tokens(tokens.clone())
            } else {
                recording.statistics()
            };
            let columns = TokenColumns {
                log_prob: &current.log_prob,
                old_log_prob: &batch.old.log_prob[tokens.clone()],
                advantage: &batch.advantage[tokens.clone()],
            };
            let mini_batch = sums.updates;
            let token_batch = TokenBatch::new(columns, &lengths)
                .and_then(|columns| columns.with_entropy(&current.entropy))
                .and_then(|columns| columns.with_old_entropy(&batch.old.entropy[tokens.clone()]))
                .and_then(|columns| columns.with_rollout_log_prob(&batch.rollout_log_prob[tokens]))
                .map_err(|source| UpdateError::Batch { step, mini_batch, source })?;
            let plan = algorithm
                .policy_loss
                .plan(&token_batch, &algorithm.aggregation, &mut selection)
                .map_err(|source| UpdateError::Plan { step, mini_batch, source })?;
            let output =
                algorithm.policy_loss.evaluate(&token_batch, plan.part(0..token_batch.len()));
            let (_bonus, grad_entropy) =
                entropy_bonus(algorithm.entropy_coefficient, &current.entropy, &plan.weights());
            let has_bonus = algorithm.entropy_coefficient.abs() > 0.0;
            let cotangent = Cotangent {
                log_prob: output.grad_log_prob,
                entropy: has_bonus.then_some(grad_entropy),
            };
            recording.backward(&cotangent)?;
            let outcome = optimizer.step(learning_rate(sums.updates))?;
            sums.updates += 1;
            sums.skipped += usize::from(!outcome.applied);
            sums.loss += output.value;
            sums.gradient_norm += outcome.gradient_norm;
            sums.policy += output.sums;
        }
    }
    Ok(sums)
}
