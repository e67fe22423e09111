//! Distance between two policies, and clip fractions.

use pyo3::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rl_losses::{
    Aggregation, ClipRange, DivergenceSums, DualClip, PolicyLoss, PpoClip, TokenBatch, TokenColumns,
};

use crate::column::{Column, Mask};
use crate::error::value_error;
use crate::repr::record;
use crate::trained::Trained;

record! {
    /// Distance of the policy from the policy that sampled; means over tokens, in nats.
    ///
    /// Attributes
    /// ----------
    /// tokens: number of tokens.
    /// k1: mean of `log π_old - log π`, the unbiased estimate of `KL(π_old ‖ π)`; it can be negative.
    /// k3: mean of `r - 1 - log r`, an estimate that is never negative.
    /// mean_abs_log_ratio, max_abs_log_ratio: mean and largest `|log r|`.
    Divergence {
        tokens: usize,
        k1: f64,
        k3: f64,
        mean_abs_log_ratio: f64,
        max_abs_log_ratio: f64,
    }
}

/// Measure how far the policy has moved; means are NaN without tokens.
///
/// Log-ratios are clamped to ±20 nats.
///
/// log_prob, old_log_prob: log-probability of the sampled tokens, now and before the step, [tokens], nats.
/// response_mask: as in token_covariances.
#[pyfunction]
#[pyo3(signature = (log_prob, old_log_prob, *, response_mask=None))]
pub(crate) fn divergence<'py>(
    log_prob: Column<'py>,
    old_log_prob: Column<'py>,
    response_mask: Option<Mask>,
) -> PyResult<Divergence> {
    let trained = Trained::new("log_prob", &log_prob, response_mask)?;
    let log_prob = trained.doubles("log_prob", &log_prob)?;
    let old_log_prob = trained.doubles("old_log_prob", &old_log_prob)?;
    let sums = DivergenceSums::of(&log_prob, &old_log_prob).map_err(value_error)?;
    Ok(Divergence {
        tokens: sums.tokens,
        k1: sums.mean_k1(),
        k3: sums.mean_k3(),
        mean_abs_log_ratio: sums.mean_abs_log_ratio(),
        max_abs_log_ratio: sums.max_abs_log_ratio,
    })
}

record! {
    /// Fraction of the tokens without gradient under PPO's clip.
    ///
    /// Attributes
    /// ----------
    /// clip_fraction: fraction in the flat part of the clip, 0 to 1 (verl's actor/pg_clipfrac).
    /// clip_fraction_lower: fraction at the dual clip's ceiling (verl's actor/pg_clipfrac_lower).
    ClipFractions {
        clip_fraction: f64,
        clip_fraction_lower: f64,
    }
}

/// Compute the clip fractions of PPO's surrogate; NaN without tokens.
///
/// Ratios are clipped to [1 - clip_ratio_low, 1 + clip_ratio_high].
///
/// clip_ratio_low, clip_ratio_high: 0.2 each by default, as in verl.
/// clip_ratio_c: ceiling on the ratio of tokens with negative advantage, above 1; None for no dual clip.
/// Other arguments: as in token_covariances.
#[pyfunction]
#[pyo3(signature = (
    log_prob, old_log_prob, advantage, *, response_mask=None, clip_ratio_low=PpoClip::DEFAULT.clip_ratio_low,
    clip_ratio_high=PpoClip::DEFAULT.clip_ratio_high, clip_ratio_c=PpoClip::DEFAULT.clip_ratio_c.ceiling(),
))]
pub(crate) fn clip_fractions<'py>(
    log_prob: Column<'py>,
    old_log_prob: Column<'py>,
    advantage: Column<'py>,
    response_mask: Option<Mask>,
    clip_ratio_low: f64,
    clip_ratio_high: f64,
    clip_ratio_c: Option<f64>,
) -> PyResult<ClipFractions> {
    let clip = ClipRange::new(clip_ratio_low, clip_ratio_high).map_err(value_error)?;
    let dual_clip = clip_ratio_c.map_or(Ok(DualClip::OFF), DualClip::at).map_err(value_error)?;
    let loss = PolicyLoss::PpoClip(PpoClip::new(clip, dual_clip));
    let trained = Trained::new("log_prob", &log_prob, response_mask)?;
    let log_prob = &*trained.doubles("log_prob", &log_prob)?;
    let old_log_prob = &*trained.doubles("old_log_prob", &old_log_prob)?;
    let advantage = &*trained.doubles("advantage", &advantage)?;
    let lengths = [log_prob.len()];
    let batch = TokenBatch::new(TokenColumns { log_prob, old_log_prob, advantage }, &lengths);
    let batch = batch.map_err(value_error)?;
    // This loss draws nothing.
    let mut rng = ChaCha8Rng::seed_from_u64(0);
    let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut rng).map_err(value_error)?;
    let sums = loss.evaluate(&batch, plan.part(0..plan.len())).sums;
    Ok(ClipFractions {
        clip_fraction: sums.clip_fraction(),
        clip_fraction_lower: sums.clip_fraction_lower(),
    })
}
