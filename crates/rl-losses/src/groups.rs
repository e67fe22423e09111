//! Groups of samples, and which of them a policy gradient can learn from.

use crate::column::{sequence_ranges, total};

/// Marks the groups that a policy gradient can learn from, `[groups]`: those whose rewards differ,
/// and groups of one sample.
///
/// `rewards` is `[samples]`, groups laid end to end with `group_sizes` samples each. This is
/// dynamic sampling as DAPO and the paper's scripts do it (drop prompts that are all right or all
/// wrong). The codes ask for a standard deviation above 0, which rounding can make of equal
/// rewards; here the rewards themselves are compared.
///
/// # Panics
///
/// If `group_sizes` do not add up to the number of rewards.
pub fn informative_groups(rewards: &[f64], group_sizes: &[usize]) -> Vec<bool> {
    assert_eq!(total(group_sizes), rewards.len(), "group sizes add up to the number of rewards");
    groups(rewards, group_sizes).map(|group| group.len() == 1 || !all_equal(group)).collect()
}

/// The groups, one slice each. The sizes must have been checked against the rewards.
pub(crate) fn groups<'a>(
    rewards: &'a [f64],
    group_sizes: &'a [usize],
) -> impl Iterator<Item = &'a [f64]> {
    sequence_ranges(group_sizes).map(|samples| &rewards[samples])
}

#[expect(clippy::float_cmp, reason = "equal rewards are the same number, not close ones")]
pub(crate) fn all_equal(group: &[f64]) -> bool {
    group.windows(2).all(|pair| pair[0] == pair[1])
}
