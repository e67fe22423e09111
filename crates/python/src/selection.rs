//! Masks of the tokens that a method selects, computed by `PolicyLoss::plan`.

use std::borrow::Cow;

use numpy::PyArray1;
use pyo3::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use rayon::prelude::*;
use rl_losses::{
    Aggregation, Centering, ClipCov, ClipRange, CovarianceBand, HighEntropy, KlCov, PolicyLoss,
    Real, Scope, Semantics, Threads, TokenBatch, TokenColumns,
};
use serde::de::value::Error;
use serde::de::{Deserialize, IntoDeserializer};

use crate::column::Column;
use crate::error::value_error;

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
#[pyfunction]
#[pyo3(signature = (
    log_prob, old_log_prob, advantage, *, seed, fraction=ClipCov::default().fraction(),
    covariance_low=ClipCov::default().band().low(), covariance_high=ClipCov::default().band().high(),
    clip_ratio_low=ClipCov::default().clip().low(), clip_ratio_high=ClipCov::default().clip().high(),
    centering="batch", entropy=None, semantics="exact",
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
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let band = CovarianceBand::new(covariance_low, covariance_high).map_err(value_error)?;
    let clip = ClipRange::new(clip_ratio_low, clip_ratio_high).map_err(value_error)?;
    let loss = ClipCov::new(fraction, band, clip).map_err(value_error)?;
    let (centering, semantics) = (variant::<Centering>("centering", centering)?, semantics);
    let semantics = variant::<Semantics>("semantics", semantics)?;
    let loss = PolicyLoss::ClipCov(loss.with(centering, Scope::MiniBatch, semantics));
    mask(py, &loss, [&log_prob, &old_log_prob, &advantage], entropy.as_ref(), seed)
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
/// centering, entropy, semantics: as in clip_cov_mask.
#[pyfunction]
#[pyo3(signature = (
    log_prob, advantage, *, fraction=KlCov::default().fraction(), centering="batch", entropy=None,
    semantics="exact",
))]
pub(crate) fn kl_cov_mask<'py>(
    py: Python<'py>,
    log_prob: Column<'py>,
    advantage: Column<'py>,
    fraction: f64,
    centering: &str,
    entropy: Option<Column<'py>>,
    semantics: &str,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let loss = KlCov::new(fraction, KlCov::default().coefficient()).map_err(value_error)?;
    let (centering, semantics) = (variant::<Centering>("centering", centering)?, semantics);
    let semantics = variant::<Semantics>("semantics", semantics)?;
    let loss = PolicyLoss::KlCov(loss.with(centering, Scope::MiniBatch, semantics));
    // The policy before the step plays no part in the selection.
    mask(py, &loss, [&log_prob, &log_prob, &advantage], entropy.as_ref(), 0)
}

/// Mark the tokens of highest entropy, bool [tokens].
///
/// The 80/20 rule learns from these tokens only (arXiv:2506.01939).
///
/// entropy: entropy of the distribution of each token, [tokens], nats.
/// fraction: fraction to mark, above 0, at most 1; 0.2 by default.
#[pyfunction]
#[pyo3(signature = (entropy, *, fraction=HighEntropy::default().fraction))]
pub(crate) fn high_entropy_mask<'py>(
    py: Python<'py>,
    entropy: Column<'py>,
    fraction: f64,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let loss = PolicyLoss::HighEntropy(HighEntropy { fraction, ..HighEntropy::default() });
    // The loss ranks tokens by entropy only.
    let unused = Column::Sequence(vec![0.0; entropy.doubles().len()]);
    mask(py, &loss, [&unused, &unused, &unused], Some(&entropy), 0)
}

/// Parses a variant by its name in configurations.
fn variant<'a, T: Deserialize<'a>>(argument: &str, name: &'a str) -> PyResult<T> {
    T::deserialize(name.into_deserializer())
        .map_err(|error: Error| value_error(format!("`{argument}`: {error}")))
}

/// The plan's selection over log-probability, old log-probability and advantage; in single precision, as
/// in training, if all columns have it.
fn mask<'py>(
    py: Python<'py>,
    loss: &PolicyLoss,
    columns: [&Column<'_>; 3],
    entropy: Option<&Column<'_>>,
    seed: u64,
) -> PyResult<Bound<'py, PyArray1<bool>>> {
    let columns: Vec<_> = columns.into_iter().chain(entropy).collect();
    let singles: Option<Vec<_>> = columns.iter().map(|column| column.singles()).collect();
    let selected = if let Some(singles) = singles {
        select(loss, &singles, seed)
    } else {
        let doubles: Vec<_> = columns.iter().map(|column| column.doubles()).collect();
        select(loss, &doubles, seed)
    };
    Ok(PyArray1::from_vec(py, selected?))
}

/// Plans over three columns, or four with the entropy; returns the selection, `[tokens]`.
fn select<R: Real>(loss: &PolicyLoss, columns: &[Cow<'_, [R]>], seed: u64) -> PyResult<Vec<bool>> {
    let [log_prob, old_log_prob, advantage] = [0, 1, 2].map(|column| &*columns[column]);
    let lengths = [log_prob.len()];
    let columns_of_batch = TokenColumns { log_prob, old_log_prob, advantage };
    let threads = Threads::new(rayon::current_num_threads(), in_parallel);
    let mut batch =
        TokenBatch::new(columns_of_batch, &lengths).map_err(value_error)?.with_threads(threads);
    if let Some(entropy) = columns.get(3) {
        batch = batch.with_entropy(entropy).map_err(value_error)?;
    }
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut rng).map_err(value_error)?;
    Ok(plan.selected())
}

fn in_parallel(pieces: usize, work: &(dyn Fn(usize) + Sync)) {
    (0..pieces).into_par_iter().for_each(work);
}
