//! The covariance of whole responses within their group, as the paper measures it.

use entropy_core::{PairedMoments, UpdateRule};

use crate::column::{
    ColumnError, check_columns, check_length, check_sequences, sequence_ranges, total,
};

/// Covariance within each group, `[groups]`, of log-probability and driving term over its responses:
/// `Cov(ℓ, e^ℓ A)` (Theorem 1, the paper's Fig. 8) or `Cov(ℓ, A)` (Theorem 2), with `ℓ` the mean
/// log-probability of a response's tokens and the divisor `n`.
///
/// `log_prob` is `[tokens]`, `advantage` is `[samples]`. Average over groups for the paper's figure,
/// or over the groups of one accuracy for its panels. A response without tokens has `ℓ = 0`.
///
/// Source: arXiv:2505.22617, Eqs. 8 and 9.
///
/// # Errors
///
/// [`ColumnError`] if the columns do not fit each other, a value is not finite, or a group is empty.
pub fn group_covariances(
    log_prob: &[f64],
    sequence_lengths: &[usize],
    advantage: &[f64],
    group_sizes: &[usize],
    rule: UpdateRule,
) -> Result<Vec<f64>, ColumnError> {
    check_columns(&[("log_prob", log_prob)])?;
    check_columns(&[("advantage", advantage)])?;
    check_sequences(sequence_lengths, ("log_prob", log_prob))?;
    check_length("sequence_lengths", sequence_lengths.len(), "advantage", advantage.len())?;
    check_length("group_sizes", total(group_sizes), "advantage", advantage.len())?;
    if let Some(group) = group_sizes.iter().position(|&size| size == 0) {
        return Err(ColumnError(format!("group {group} has 0 samples, expected at least 1")));
    }
    let means: Vec<f64> = sequence_ranges(sequence_lengths)
        .map(|tokens| log_prob[tokens.clone()].iter().sum::<f64>() / tokens.len().max(1) as f64)
        .collect();
    let driving: Vec<f64> = std::iter::zip(&means, advantage)
        .map(|(log_prob, advantage)| match rule {
            UpdateRule::PolicyGradient => log_prob.exp() * advantage,
            UpdateRule::NaturalPolicyGradient => *advantage,
        })
        .collect();
    let covariances = sequence_ranges(group_sizes).map(|samples| {
        let moments = PairedMoments::of(&means[samples.clone()], &driving[samples]);
        moments.covariance().unwrap_or(0.0)
    });
    Ok(covariances.collect())
}
