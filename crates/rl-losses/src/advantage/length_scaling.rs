//! Advantages that long responses do not get more of.

use super::columns::{AdvantageError, check_groups, check_samples};
use crate::parameter::check_unit;

/// Scales the advantage of each sample by the length of its response, `[samples]`:
/// `A_i · n L_i^(-α) / Σ_j L_j^(-α)` over the group's `n` samples.
///
/// Under a sum over tokens (`seq-mean-token-sum`) this is ΔL normalisation: `α = 1` has the least
/// variance and weighs every response alike, `α = 0` changes nothing. The factors of a group have
/// mean 1, so the scale of the loss stays. A response without tokens counts as one token long.
///
/// Source: He et al. 2025, [arXiv:2509.07558](https://arxiv.org/abs/2509.07558).
///
/// # Errors
///
/// [`AdvantageError`] if the columns do not fit each other, an advantage is not finite, or
/// `exponent` is outside `0..=1`.
pub fn length_normalised_advantages(
    advantages: &[f64],
    group_sizes: &[usize],
    sequence_lengths: &[usize],
    exponent: f64,
) -> Result<Vec<f64>, AdvantageError> {
    check_unit("length_exponent", exponent)?;
    check_samples("advantages", advantages, sequence_lengths.len())?;
    check_groups(("advantages", advantages), group_sizes, 1)?;
    let weights: Vec<f64> =
        sequence_lengths.iter().map(|&length| (length.max(1) as f64).powf(-exponent)).collect();
    let mut scaled = Vec::with_capacity(advantages.len());
    for &size in group_sizes {
        let group = scaled.len()..scaled.len() + size;
        let mean = weights[group.clone()].iter().sum::<f64>() / size as f64;
        scaled.extend(group.map(|sample| advantages[sample] * weights[sample] / mean));
    }
    Ok(scaled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn with_exponent_one_every_response_has_the_same_sum() {
        let lengths = [10, 40, 5];
        let scaled = length_normalised_advantages(&[1.0; 3], &[2, 1], &lengths, 1.0).unwrap();
        let sums: Vec<f64> =
            std::iter::zip(&scaled, lengths).map(|(a, length)| a * length as f64).collect();
        assert!((sums[0] - sums[1]).abs() < 1e-12, "{sums:?}");
        assert!((scaled[0] + scaled[1] - 2.0).abs() < 1e-15, "mean 1: {scaled:?}");
        assert!((scaled[2] - 1.0).abs() < 1e-15, "a group of its own: {scaled:?}");
    }

    #[test]
    fn groups_that_do_not_cover_the_samples_are_held_against_the_advantages() {
        let error = length_normalised_advantages(&[1.0; 3], &[2], &[1; 3], 1.0).unwrap_err();
        let expected = "`group_sizes` add up to 2 samples, `advantages` has 3";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn with_exponent_zero_nothing_changes() {
        let advantages = [1.0, -2.0, 0.5];
        let scaled = length_normalised_advantages(&advantages, &[3], &[1, 9, 0], 0.0);
        assert_eq!(scaled.unwrap(), advantages);
    }
}
