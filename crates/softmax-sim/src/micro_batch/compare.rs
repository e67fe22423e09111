//! The tokens that each method selects, over the mini-batch and within micro-batches.

use super::mini_batch::{MiniBatch, MiniBatchError};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_losses::{
    Aggregation, Centering, ClipCov, KlCov, PolicyLoss, Scope, Semantics, TokenBatch, TokenColumns,
};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// Selection over the mini-batch, and a row for each size of micro-batch.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// Responses of the mini-batch.
    pub responses: usize,
    /// Tokens of the mini-batch.
    pub tokens: usize,
    /// Tokens in Clip-Cov's covariance band, over the mini-batch.
    pub clip_cov_eligible: usize,
    /// Tokens that KL-Cov selects over the mini-batch.
    pub kl_cov_selected: usize,
    /// Selection within micro-batches.
    pub rows: Vec<Row>,
}

/// Selection within micro-batches of one size.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Responses of each micro-batch; the last has the rest.
    pub responses: usize,
    /// Fraction of the micro-batches whose tokens all have one advantage: every covariance is 0.
    pub without_covariance: f64,
    /// Tokens in Clip-Cov's covariance band.
    pub clip_cov_eligible: usize,
    /// Fraction of the mini-batch's eligible tokens that are among them; `null` if there is none.
    pub clip_cov_overlap: Option<f64>,
    /// Tokens that KL-Cov selects.
    pub kl_cov_selected: usize,
    /// Fraction of the mini-batch's selected tokens that are among them.
    pub kl_cov_overlap: Option<f64>,
}

/// Compares selection over the mini-batch with selection in micro-batches of each of these sizes, in responses.
///
/// Settings are the defaults of both methods with the arithmetic of the published code ([`Semantics::Verl`]). Clip-Cov draws
/// its tokens at random, so the tokens that may be drawn are compared.
///
/// # Errors
///
/// [`MiniBatchError`] if the columns are no batch.
pub fn compare(batch: &MiniBatch, sizes: &[usize]) -> Result<Comparison, MiniBatchError> {
    let by_mini_batch = Selected::of(batch, Scope::MiniBatch, batch.lengths.len())?;
    let rows = sizes.iter().map(|&size| {
        let selected = Selected::of(batch, Scope::MicroBatch, size)?;
        Ok(Row {
            responses: size,
            without_covariance: without_covariance(batch, size),
            clip_cov_eligible: selected.clip_cov.len(),
            clip_cov_overlap: overlap(&by_mini_batch.clip_cov, &selected.clip_cov),
            kl_cov_selected: selected.kl_cov.len(),
            kl_cov_overlap: overlap(&by_mini_batch.kl_cov, &selected.kl_cov),
        })
    });
    Ok(Comparison {
        responses: batch.lengths.len(),
        tokens: batch.log_prob.len(),
        clip_cov_eligible: by_mini_batch.clip_cov.len(),
        kl_cov_selected: by_mini_batch.kl_cov.len(),
        rows: rows.collect::<Result<_, MiniBatchError>>()?,
    })
}

/// Indices of the tokens that each method selects.
struct Selected {
    clip_cov: BTreeSet<usize>,
    kl_cov: BTreeSet<usize>,
}

impl Selected {
    fn of(batch: &MiniBatch, scope: Scope, size: usize) -> Result<Self, MiniBatchError> {
        let log_prob = batch.log_prob.as_slice();
        let columns =
            TokenColumns { log_prob, old_log_prob: log_prob, advantage: &batch.advantage };
        let micro_batches: Vec<usize> = batch.lengths.chunks(size).map(<[usize]>::len).collect();
        let tokens = TokenBatch::new(columns, &batch.lengths).map_err(MiniBatchError::of)?;
        let tokens = tokens.with_micro_batches(&micro_batches).map_err(MiniBatchError::of)?;
        let (centering, semantics) = (Centering::Batch, Semantics::Verl);
        let clip_cov = PolicyLoss::ClipCov(ClipCov::default().with(centering, scope, semantics));
        let kl_cov = PolicyLoss::KlCov(KlCov::default().with(centering, scope, semantics));
        let mut rng = ChaCha8Rng::seed_from_u64(0);
        let plan = kl_cov.plan(&tokens, &Aggregation::TokenMean, &mut rng);
        let plan = plan.map_err(MiniBatchError::of)?;
        let eligible = clip_cov.eligible(&tokens).map_err(MiniBatchError::of)?;
        Ok(Self {
            clip_cov: eligible.into_iter().collect(),
            kl_cov: plan.selected_tokens().iter().copied().collect(),
        })
    }
}

/// Fraction of `reference` that is in `selected`.
fn overlap(reference: &BTreeSet<usize>, selected: &BTreeSet<usize>) -> Option<f64> {
    let shared = reference.intersection(selected).count();
    (!reference.is_empty()).then(|| shared as f64 / reference.len() as f64)
}

/// Fraction of the micro-batches of `size` responses whose tokens all have one advantage.
fn without_covariance(batch: &MiniBatch, size: usize) -> f64 {
    let mut first = 0;
    let is_constant: Vec<bool> = batch
        .lengths
        .chunks(size)
        .map(|lengths| {
            let tokens = first..first + lengths.iter().sum::<usize>();
            first = tokens.end;
            let advantages = &batch.advantage[tokens];
            advantages.iter().all(|advantage| advantage.to_bits() == advantages[0].to_bits())
        })
        .collect();
    let count = is_constant.iter().filter(|constant| **constant).count();
    count as f64 / is_constant.len().max(1) as f64
}

impl Comparison {
    /// Prints the comparison as a table.
    pub fn table(&self) -> String {
        let Self { responses, tokens, clip_cov_eligible, kl_cov_selected, rows } = self;
        let mut text = format!(
            "{responses} responses, {tokens} tokens. Over the mini-batch Clip-Cov may drop {clip_cov_eligible} tokens, \
             KL-Cov penalises {kl_cov_selected}.\n\n\
             responses a    without    Clip-Cov may drop     KL-Cov penalises\n\
             micro-batch    covariance   tokens  overlap       tokens  overlap\n"
        );
        let share =
            |value: &Option<f64>| value.map_or("-".to_owned(), |share| format!("{share:.2}"));
        for row in rows {
            let _ = writeln!(
                text,
                "{:>11} {:>13.2} {:>8} {:>8} {:>12} {:>8}",
                row.responses,
                row.without_covariance,
                row.clip_cov_eligible,
                share(&row.clip_cov_overlap),
                row.kl_cov_selected,
                share(&row.kl_cov_overlap),
            );
        }
        text + "\nwithout covariance: fraction of the micro-batches whose tokens all have one advantage\n\
                overlap: fraction of the mini-batch's tokens that the micro-batches choose too\n"
    }
}
