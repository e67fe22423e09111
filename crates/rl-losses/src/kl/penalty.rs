//! A divergence as a term of the loss or of the reward.

use super::KlEstimator;
use crate::{
    column::{ColumnError, Named, check_columns, check_sequences, sequence_ranges},
    parameter::check_not_negative,
};

/// KL penalty `coefficient · Σ_t w_t k(x_t)`, to be added to a loss, and its derivative with
/// respect to each `log π(y_t)`, `[tokens]`.
///
/// `log_prob` and `reference_log_prob` (nats) and `weights` are `[tokens]`; with the weights of the
/// [`StepPlan`](crate::StepPlan) the penalty is averaged as the policy loss is. The penalty of a
/// split batch is the sum over its parts.
///
/// # Errors
///
/// [`ColumnError`] if the columns differ in length, a value is not finite, or `coefficient` is
/// negative.
pub fn kl_loss(
    estimator: KlEstimator,
    coefficient: f64,
    log_prob: &[f64],
    reference_log_prob: &[f64],
    weights: &[f64],
) -> Result<(f64, Vec<f64>), ColumnError> {
    check_not_negative("kl_loss_coefficient", coefficient)?;
    let columns = columns(log_prob, reference_log_prob);
    check_columns(&[columns[0], columns[1], ("weights", weights)])?;
    let mut value = 0.0;
    let gradient = log_ratios(log_prob, reference_log_prob)
        .zip(weights)
        .map(|(log_ratio, weight)| {
            let (term, weight) = (estimator.term(log_ratio), coefficient * weight);
            value += weight * term.value;
            weight * term.d_log_prob
        })
        .collect();
    Ok((value, gradient))
}

/// Rewards less a KL penalty, `[tokens]`: `r_t - coefficient · k(x_t)`.
///
/// `log_prob` is that of the policy that sampled, and a constant: nothing is differentiated. For
/// the gradient of `KL(π ‖ π_ref)` take `k1` ([`KlEstimator`] says why).
///
/// Source: verl `apply_kl_penalty`.
///
/// # Errors
///
/// [`ColumnError`] if the columns, all `[tokens]`, differ in length, a value is not finite, or
/// `coefficient` is negative.
pub fn kl_rewards(
    estimator: KlEstimator,
    coefficient: f64,
    token_rewards: &[f64],
    log_prob: &[f64],
    reference_log_prob: &[f64],
) -> Result<Vec<f64>, ColumnError> {
    check_not_negative("kl_reward_coefficient", coefficient)?;
    let columns = columns(log_prob, reference_log_prob);
    check_columns(&[columns[0], columns[1], ("token_rewards", token_rewards)])?;
    let rewards = std::iter::zip(token_rewards, log_ratios(log_prob, reference_log_prob));
    Ok(rewards.map(|(reward, ratio)| reward - coefficient * estimator.term(ratio).value).collect())
}

/// Mean over the sequences that hold a token of their mean `k(x)`, in nats: what verl's controller is given. NaN if there are
/// none.
///
/// # Errors
///
/// [`ColumnError`] if the columns, both `[tokens]`, or the sequences do not fit each other, or a
/// value is not finite.
pub fn kl_mean(
    estimator: KlEstimator,
    log_prob: &[f64],
    reference_log_prob: &[f64],
    sequence_lengths: &[usize],
) -> Result<f64, ColumnError> {
    let columns = columns(log_prob, reference_log_prob);
    check_columns(&columns)?;
    check_sequences(sequence_lengths, columns[0])?;
    let (mut sequences, mut sum) = (0, 0.0);
    for tokens in sequence_ranges(sequence_lengths).filter(|tokens| !tokens.is_empty()) {
        let ratios = log_ratios(&log_prob[tokens.clone()], &reference_log_prob[tokens.clone()]);
        let divergence: f64 = ratios.map(|ratio| estimator.term(ratio).value).sum();
        sequences += 1;
        sum += divergence / tokens.len() as f64;
    }
    Ok(sum / f64::from(sequences))
}

fn columns<'a>(log_prob: &'a [f64], reference_log_prob: &'a [f64]) -> [Named<'a>; 2] {
    [("log_prob", log_prob), ("reference_log_prob", reference_log_prob)]
}

fn log_ratios(log_prob: &[f64], reference: &[f64]) -> impl Iterator<Item = f64> {
    std::iter::zip(log_prob, reference).map(|(log_prob, reference)| log_prob - reference)
}
