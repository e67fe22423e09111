//! A sample against the others of its group: GRPO, Dr. GRPO, `MaxRL`, RLOO.

use super::columns::{AdvantageError, Advantages, check_groups};
use crate::groups::{all_equal, groups};

/// Added to the standard deviation a reward is divided by, as in verl; the paper has none (row 24
/// of `docs/paper-vs-code.md`).
pub(super) const DEVIATION_FLOOR: f64 = 1e-6;

/// Divisor of a reward that is centred on its group's mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GroupNormalisation {
    /// The group's standard deviation (unbiased) plus `1e-6`: GRPO.
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
/// [`AdvantageError`] if the groups do not cover the rewards, a group is empty, or a reward is not
/// finite.
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

/// Advantage of each sample over its group's mean, in units of that mean, `[samples]`: `(R - mean) / mean`.
///
/// The rarer a reward in its group, the more it counts: an unbiased gradient of the log-likelihood of being right, truncated at the
/// size of the group. Meant for rewards of 0 or above; a group whose mean is not positive has advantages of 0, as has a group of one.
///
/// Source: `MaxRL`, [arXiv:2602.02710](https://arxiv.org/abs/2602.02710); prime-rl `max_rl`; row 54 of `docs/paper-vs-code.md`.
pub(super) fn max_rl(rewards: &[f64], group_sizes: &[usize]) -> Advantages {
    per_group(rewards, group_sizes, |group| {
        let mean = mean(group);
        (mean, if mean > 0.0 { mean } else { f64::INFINITY })
    })
}

/// Advantage of each sample over the mean of the **others** in its group, `[samples]`: `n / (n - 1)
/// · (R - mean)`. A group of one has no others: it keeps its reward (verl's `rloo`) or gets 0 (verl's
/// `rloo_vectorized`).
///
/// Source: Ahmadian et al. 2024, RLOO, [Sec. 3](https://arxiv.org/abs/2402.14740); the two
/// conventions for a group of one are row 30 of `docs/paper-vs-code.md`.
pub(super) fn rloo(rewards: &[f64], group_sizes: &[usize], keeps_alone: bool) -> Advantages {
    per_group(rewards, group_sizes, |group| match group {
        [reward] => (if keeps_alone { 0.0 } else { *reward }, 1.0),
        _ => (mean(group), (group.len() as f64 - 1.0) / group.len() as f64),
    })
}

/// `(R - shift) / scale` with the group's own `(shift, scale)`; 0 in a group of equal rewards.
pub(super) fn per_group(
    rewards: &[f64],
    group_sizes: &[usize],
    mut shift_and_scale: impl FnMut(&[f64]) -> (f64, f64),
) -> Advantages {
    check_groups(("rewards", rewards), group_sizes, 1)?;
    let mut advantages = Vec::with_capacity(rewards.len());
    for group in groups(rewards, group_sizes) {
        let (shift, scale) = shift_and_scale(group);
        // Rounding of the mean must not make a preference out of a tie.
        let tie = group.len() > 1 && all_equal(group);
        advantages.extend(group.iter().map(|r| if tie { 0.0 } else { (r - shift) / scale }));
    }
    Ok(advantages)
}

pub(super) fn mean(group: &[f64]) -> f64 {
    group.iter().sum::<f64>() / group.len() as f64
}

pub(super) fn unbiased_deviation(group: &[f64]) -> f64 {
    let mean = mean(group);
    let squares: f64 = group.iter().map(|reward| (reward - mean).powi(2)).sum();
    (squares / (group.len() as f64 - 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_sample_keeps_its_reward_or_gets_nothing() {
        let lone = |keeps_alone| rloo(&[2.0], &[1], keeps_alone).unwrap();
        assert_eq!(lone(true), [2.0]);
        assert_eq!(lone(false), [0.0]);
    }

    #[test]
    fn without_a_positive_mean_or_alone_no_reward_counts() {
        assert_eq!(max_rl(&[-1.0, 0.0, 0.5], &[2, 1]), Ok(vec![0.0; 3]));
    }
}
