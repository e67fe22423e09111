//! Advantages of samples within their group.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::groups::{all_equal, groups};

/// Added to the standard deviation a reward is divided by, as in verl; the paper has none (row 24
/// of `docs/paper-vs-code.md`).
const DEVIATION_FLOOR: f64 = 1e-6;

/// Why rewards have no advantages.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum AdvantageError {
    /// The groups do not cover the rewards.
    #[error("`group_sizes` add up to {grouped} samples, `rewards` has {rewards}")]
    GroupSizes {
        /// Samples in all groups.
        grouped: usize,
        /// Rewards given.
        rewards: usize,
    },
    /// A reward is NaN or infinite.
    #[error("`rewards` is {value} at sample {index}, expected a finite number")]
    NotFinite {
        /// Position of the sample.
        index: usize,
        /// Its reward.
        value: f64,
    },
}

/// What a reward, centred on its group's mean, is divided by.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupNormalisation {
    /// The group's standard deviation (unbiased) plus `1e-6`: GRPO.
    #[default]
    StandardDeviation,
    /// Nothing: Dr. GRPO.
    None,
}

/// Advantage of each sample relative to its group, `[samples]`: `(R - mean) / (std + 1e-6)` or `R -
/// mean`.
///
/// `rewards` is `[samples]`, groups laid end to end with `group_sizes` samples each. A group of
/// equal rewards gives exactly 0. A group of one has mean 0 and deviation 1, as in verl.
///
/// Source: Shao et al. 2024, [Sec. 4.1](https://arxiv.org/abs/2402.03300); Liu et al. 2025, Dr.
/// GRPO.
///
/// # Errors
///
/// [`AdvantageError`] if the groups do not cover the rewards or a reward is not finite.
pub fn group_relative_advantages(
    rewards: &[f64],
    group_sizes: &[usize],
    normalisation: GroupNormalisation,
) -> Result<Vec<f64>, AdvantageError> {
    per_group(rewards, group_sizes, |group| {
        let (mean, deviation) = match group {
            [_] => (0.0, 1.0),
            _ => (mean(group), unbiased_deviation(group)),
        };
        let scale = match normalisation {
            GroupNormalisation::StandardDeviation => deviation + DEVIATION_FLOOR,
            GroupNormalisation::None => 1.0,
        };
        (mean, scale)
    })
}

/// Advantage of each sample over the mean of the **others** in its group, `[samples]`: `n / (n - 1)
/// · (R - mean)`.
///
/// A group of one keeps its reward, as verl's `rloo` (its vectorised variant gives 0).
///
/// Source: Ahmadian et al. 2024, RLOO, [Sec. 3](https://arxiv.org/abs/2402.14740).
///
/// # Errors
///
/// [`AdvantageError`] if the groups do not cover the rewards or a reward is not finite.
pub fn leave_one_out_advantages(
    rewards: &[f64],
    group_sizes: &[usize],
) -> Result<Vec<f64>, AdvantageError> {
    per_group(rewards, group_sizes, |group| match group {
        [_] => (0.0, 1.0),
        _ => (mean(group), (group.len() as f64 - 1.0) / group.len() as f64),
    })
}

/// Gives every token the value of its sequence, `[sequences]` to `[tokens]`.
///
/// # Panics
///
/// If `per_sequence` does not hold one value per sequence.
pub fn broadcast_to_tokens(per_sequence: &[f64], sequence_lengths: &[usize]) -> Vec<f64> {
    assert_eq!(per_sequence.len(), sequence_lengths.len(), "one value per sequence");
    std::iter::zip(per_sequence, sequence_lengths)
        .flat_map(|(&value, &length)| std::iter::repeat_n(value, length))
        .collect()
}

/// `(R - shift) / scale` with the group's own `(shift, scale)`.
fn per_group(
    rewards: &[f64],
    group_sizes: &[usize],
    shift_and_scale: impl Fn(&[f64]) -> (f64, f64),
) -> Result<Vec<f64>, AdvantageError> {
    let grouped = group_sizes.iter().sum();
    if grouped != rewards.len() {
        return Err(AdvantageError::GroupSizes { grouped, rewards: rewards.len() });
    }
    if let Some(index) = rewards.iter().position(|reward| !reward.is_finite()) {
        return Err(AdvantageError::NotFinite { index, value: rewards[index] });
    }
    let mut advantages = Vec::with_capacity(rewards.len());
    for group in groups(rewards, group_sizes) {
        let (shift, scale) = shift_and_scale(group);
        // Rounding of the mean must not make a preference out of a tie.
        let tie = group.len() > 1 && all_equal(group);
        advantages.extend(group.iter().map(|r| if tie { 0.0 } else { (r - shift) / scale }));
    }
    Ok(advantages)
}

fn mean(group: &[f64]) -> f64 {
    group.iter().sum::<f64>() / group.len() as f64
}

fn unbiased_deviation(group: &[f64]) -> f64 {
    let mean = mean(group);
    let squares: f64 = group.iter().map(|reward| (reward - mean).powi(2)).sum();
    (squares / (group.len() as f64 - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: &[f64], expected: &[f64]) -> bool {
        found.len() == expected.len()
            && std::iter::zip(found, expected).all(|(f, e)| (f - e).abs() < 1e-12)
    }

    #[test]
    fn one_right_of_four_stands_out() {
        let advantages =
            group_relative_advantages(&[1.0, 0.0, 0.0, 0.0], &[4], GroupNormalisation::default())
                .unwrap();
        let scale = 0.5 + 1e-6; // the unbiased deviation of one in four
        assert!(close(&advantages, &[0.75 / scale, -0.25 / scale, -0.25 / scale, -0.25 / scale]));
    }

    #[test]
    fn leave_one_out_compares_with_the_mean_of_the_others() {
        let advantages = leave_one_out_advantages(&[1.0, 0.0, 0.5, 2.0], &[3, 1]).unwrap();
        assert!(close(&advantages, &[0.75, -0.75, 0.0, 2.0]));
    }

    #[test]
    fn a_group_without_difference_has_no_advantage() {
        for normalisation in [GroupNormalisation::StandardDeviation, GroupNormalisation::None] {
            let advantages = group_relative_advantages(&[0.1; 3], &[3], normalisation).unwrap();
            assert_eq!(advantages, [0.0; 3]);
        }
    }

    #[test]
    fn groups_must_cover_the_rewards() {
        let error = leave_one_out_advantages(&[1.0; 3], &[2]).unwrap_err();
        assert_eq!(error.to_string(), "`group_sizes` add up to 2 samples, `rewards` has 3");
    }

    #[test]
    fn a_sequence_without_tokens_gets_no_advantage() {
        assert_eq!(broadcast_to_tokens(&[1.0, 2.0, 3.0], &[2, 0, 1]), [1.0, 1.0, 3.0]);
    }
}
