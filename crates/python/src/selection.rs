//! Masks of the tokens that a method selects, computed by `PolicyLoss::plan`.

use pyo3::prelude::*;
use rl_losses::{
    Aggregation, Centering, ClipCov, ClipRange, CovarianceBand, HighEntropy, KlCov, PolicyLoss,
    Scope, Semantics,
};
use serde_json::json;

use crate::batch::Columns;
use crate::column::{Column, Mask};
use crate::error::value_error;
use crate::settings::parsed;
use crate::trained::Trained;

/// Mark the tokens that Clip-Cov drops, bool [tokens].
///
/// Give these tokens no loss, and keep the denominator. They are a uniform draw of `fraction` of all
/// tokens, at least one, from those whose covariance lies strictly between covariance_low and
/// covariance_high and whose ratio the surrogate does not clip. Pass all tokens of the mini-batch. The
/// draw depends on seed and columns only: use another seed for each update.
///
/// log_prob, old_log_prob: log-probability of the sampled tokens, now and before the step, [tokens], nats.
/// advantage: [tokens].
/// seed: 0 to 2**64 - 1.
/// fraction: above 0, at most 1; 2e-4 by default, never a percentage.
/// covariance_low, covariance_high: nat·reward; 1 and 5 by default.
/// clip_ratio_low, clip_ratio_high: clip range of the surrogate; 1 and 1 by default, a ratio in [0, 2].
/// centering: "batch" as published, or "state", which needs entropy.
/// entropy: entropy of the distribution of each token, [tokens], nats.
/// semantics: "exact", or "paper", "prime", "verl" to follow the arithmetic of another version.
/// response_mask: as in token_covariances.
#[pyfunction]
#[pyo3(signature = (
    log_prob, old_log_prob, advantage, *, seed, fraction=ClipCov::DEFAULT.fraction,
    covariance_low=ClipCov::DEFAULT.covariance_low, covariance_high=ClipCov::DEFAULT.covariance_high,
    clip_ratio_low=ClipCov::DEFAULT.clip_ratio_low, clip_ratio_high=ClipCov::DEFAULT.clip_ratio_high,
    centering="batch", entropy=None, semantics="exact", response_mask=None,
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn clip_cov_mask<'py>(
    py: Python<'py>,
    log_prob: Column<'py>,
    old_log_prob: Column<'py>,
    advantage: Column<'py>,
    seed: u64,
    fraction: f64,
    covariance_low: f64,
    covariance_high: f64,
    clip_ratio_low: f64,
    clip_ratio_high: f64,
    centering: &str,
    entropy: Option<Column<'py>>,
    semantics: &str,
    response_mask: Option<Mask>,
) -> PyResult<Bound<'py, PyAny>> {
    let band = CovarianceBand::new(covariance_low, covariance_high).map_err(value_error)?;
    let clip = ClipRange::new(clip_ratio_low, clip_ratio_high).map_err(value_error)?;
    let loss = ClipCov::new(fraction, band, clip).map_err(value_error)?;
    let centering: Centering = parsed("centering", json!(centering))?;
    let semantics: Semantics = parsed("semantics", json!(semantics))?;
    let loss = PolicyLoss::ClipCov(loss.with(centering, Scope::MiniBatch, semantics));
    let trained = Trained::new("log_prob", &log_prob, response_mask)?;
    mask(py, &loss, &trained, [&log_prob, &old_log_prob, &advantage], entropy.as_ref(), seed)
}

/// Mark the tokens that KL-Cov penalises, bool [tokens].
///
/// Add `coefficient * abs(log ratio)` to the loss of these tokens. They are the `fraction` of all tokens,
/// at least one, with the highest covariance; the earlier of two equal ones. Pass all tokens of the
/// mini-batch. The penalty acts from the second update of a rollout on.
///
/// log_prob: log-probability of the sampled tokens, [tokens], nats.
/// advantage: [tokens].
/// fraction: above 0, at most 1; 2e-3 by default, never a percentage.
/// centering, entropy, semantics, response_mask: as in clip_cov_mask.
#[pyfunction]
#[pyo3(signature = (
    log_prob, advantage, *, fraction=KlCov::DEFAULT.fraction, centering="batch", entropy=None,
    semantics="exact", response_mask=None,
))]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
pub(crate) fn kl_cov_mask<'py>(
    py: Python<'py>,
    log_prob: Column<'py>,
    advantage: Column<'py>,
    fraction: f64,
    centering: &str,
    entropy: Option<Column<'py>>,
    semantics: &str,
    response_mask: Option<Mask>,
) -> PyResult<Bound<'py, PyAny>> {
    let loss = KlCov::new(fraction, KlCov::DEFAULT.coefficient).map_err(value_error)?;
    let centering: Centering = parsed("centering", json!(centering))?;
    let semantics: Semantics = parsed("semantics", json!(semantics))?;
    let loss = PolicyLoss::KlCov(loss.with(centering, Scope::MiniBatch, semantics));
    // The policy before the step plays no part in the selection.
    let trained = Trained::new("log_prob", &log_prob, response_mask)?;
    mask(py, &loss, &trained, [&log_prob, &log_prob, &advantage], entropy.as_ref(), 0)
}

/// Mark the tokens of highest entropy, bool [tokens].
///
/// The 80/20 rule learns from these tokens only (arXiv:2506.01939).
///
/// entropy: entropy of the distribution of each token, [tokens], nats.
/// fraction: fraction to mark, above 0, at most 1; 0.2 by default.
/// response_mask: as in token_covariances.
#[pyfunction]
#[pyo3(signature = (entropy, *, fraction=HighEntropy::default().fraction, response_mask=None))]
pub(crate) fn high_entropy_mask<'py>(
    py: Python<'py>,
    entropy: Column<'py>,
    fraction: f64,
    response_mask: Option<Mask>,
) -> PyResult<Bound<'py, PyAny>> {
    let loss = PolicyLoss::HighEntropy(HighEntropy { fraction, ..HighEntropy::default() });
    // The loss ranks tokens by entropy only.
    let unused = Column::zeros_like(entropy.named("entropy")?);
    let trained = Trained::new("entropy", &entropy, response_mask)?;
    mask(py, &loss, &trained, [&unused; 3], Some(&entropy), 0)
}

/// The plan's selection, in the shape of the columns.
fn mask<'py>(
    py: Python<'py>,
    loss: &PolicyLoss,
    trained: &Trained<'py>,
    required: [&Column<'py>; 3],
    entropy: Option<&Column<'py>>,
    seed: u64,
) -> PyResult<Bound<'py, PyAny>> {
    let (rows, columns) =
        (trained.row_lengths(), Columns { required, optional: [entropy, None, None, None] });
    let plan = columns.plan(trained, &rows, loss, &Aggregation::TokenMean, None, seed)?;
    trained.result(py, plan.selected())
}
