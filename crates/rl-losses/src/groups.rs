//! Groups of samples: by name, and which of them have something to teach.

use std::{collections::HashMap, hash::Hash};

use serde::{Deserialize, Serialize};

use crate::{
    AdvantageError, ParameterError,
    advantage::check_groups,
    column::total,
    parameter::check_unit,
    settings::{Settings, checked_when_read},
};

/// The order that lays the samples of each group end to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouping {
    order: Vec<usize>,
    sizes: Vec<usize>,
}

impl Grouping {
    /// Groups samples that carry the same identifier (`[samples]`); groups stand in the order of
    /// their first sample, samples in their own.
    pub fn by_id<Id: Eq + Hash>(ids: &[Id]) -> Self {
        let mut group_of: HashMap<&Id, usize> = HashMap::new();
        let mut members: Vec<Vec<usize>> = Vec::new();
        for (sample, id) in ids.iter().enumerate() {
            let group = *group_of.entry(id).or_insert(members.len());
            if group == members.len() {
                members.push(Vec::new());
            }
            members[group].push(sample);
        }
        Self { sizes: members.iter().map(Vec::len).collect(), order: members.concat() }
    }

    /// Samples of each group, `[groups]`.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// Original position of each sample, groups laid end to end, `[samples]`.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// Brings a column (`[samples]`) from its original order into that of the groups.
    ///
    /// # Panics
    ///
    /// If the column does not hold one value per sample.
    pub fn gather<T: Copy>(&self, column: &[T]) -> Vec<T> {
        assert_eq!(column.len(), self.order.len(), "one value per sample");
        self.order.iter().map(|&sample| column[sample]).collect()
    }

    /// Brings a column (`[samples]`) back from the order of the groups.
    ///
    /// # Panics
    ///
    /// If the column does not hold one value per sample.
    pub fn scatter<T: Copy + Default>(&self, column: &[T]) -> Vec<T> {
        assert_eq!(column.len(), self.order.len(), "one value per sample");
        let mut original = vec![T::default(); column.len()];
        for (&sample, &value) in std::iter::zip(&self.order, column) {
            original[sample] = value;
        }
        original
    }
}

/// Whether the rewards of each group differ, or the group has one sample: the groups a policy
/// gradient can learn from.
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

/// Which groups are trained on.
///
/// Default: those whose rewards differ.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(remote = "Self", default, deny_unknown_fields)]
pub struct GroupFilter {
    /// Drops groups whose rewards are all equal, unless they have one sample.
    pub drop_uninformative: bool,
    /// Lowest mean reward of a group that is kept, `0..=1`.
    pub accuracy_low: f64,
    /// Highest mean reward of a group that is kept, `0..=1` and not below `accuracy_low`.
    pub accuracy_high: f64,
}

impl Default for GroupFilter {
    fn default() -> Self {
        Self { drop_uninformative: true, accuracy_low: 0.0, accuracy_high: 1.0 }
    }
}

impl Settings for GroupFilter {
    fn check(&self) -> Result<(), ParameterError> {
        let low = check_unit("accuracy_low", self.accuracy_low)?;
        let high = check_unit("accuracy_high", self.accuracy_high)?;
        if low <= high {
            return Ok(());
        }
        let (low_field, high_field) = ("accuracy_low", "accuracy_high");
        Err(ParameterError::Order { low_field, low, high_field, high })
    }
}

checked_when_read!(GroupFilter);

impl GroupFilter {
    /// Whether each group is kept, `[groups]`. Both ends of the band of accuracies belong to it.
    ///
    /// Source: DAPO, [arXiv:2503.14476](https://arxiv.org/abs/2503.14476), Sec. 3.2; the band as in
    /// PRIME's online filter, [arXiv:2502.01456](https://arxiv.org/abs/2502.01456).
    ///
    /// # Errors
    ///
    /// [`AdvantageError`] if the groups do not cover the rewards, a group is empty, a reward is not
    /// finite, or the band is upside down.
    pub fn kept(
        &self,
        rewards: &[f64],
        group_sizes: &[usize],
    ) -> Result<Vec<bool>, AdvantageError> {
        self.check()?;
        check_groups(("rewards", rewards), group_sizes, 1)?;
        let informative = informative_groups(rewards, group_sizes);
        let kept = groups(rewards, group_sizes).zip(informative).map(|(group, informative)| {
            let accuracy = group.iter().sum::<f64>() / group.len() as f64;
            (informative || !self.drop_uninformative)
                && (self.accuracy_low..=self.accuracy_high).contains(&accuracy)
        });
        Ok(kept.collect())
    }
}

/// The groups, one slice each. The sizes must have been checked against the rewards.
pub(crate) fn groups<'a>(
    rewards: &'a [f64],
    group_sizes: &'a [usize],
) -> impl Iterator<Item = &'a [f64]> {
    let mut rest = rewards;
    group_sizes.iter().map(move |&size| {
        let (group, after) = rest.split_at(size);
        rest = after;
        group
    })
}

#[expect(clippy::float_cmp, reason = "equal rewards are the same number, not close ones")]
pub(crate) fn all_equal(group: &[f64]) -> bool {
    group.windows(2).all(|pair| pair[0] == pair[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_rewards_teach_nothing_even_where_their_deviation_rounds_above_zero() {
        // The mean of three times 0.1 is not 0.1 in f64.
        let rewards = [0.1, 0.1, 0.1, 0.0, 1.0, 1.0];
        assert_eq!(informative_groups(&rewards, &[3, 2, 1]), [false, true, true]);
    }

    #[test]
    fn a_band_leaves_out_what_is_too_hard_or_too_easy() {
        let filter = GroupFilter { accuracy_low: 0.25, accuracy_high: 0.75, ..Default::default() };
        let rewards = [0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0];
        assert_eq!(filter.kept(&rewards, &[4, 4, 3]), Ok(vec![true, true, false]));
        let error = GroupFilter { accuracy_low: 0.8, ..filter }.kept(&[], &[]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`accuracy_low` is 0.8, expected less than `accuracy_high`, which is 0.75"
        );
    }

    #[test]
    fn samples_find_their_group_and_their_way_back() {
        let grouping = Grouping::by_id(&["b", "a", "b", "c", "a"]);
        assert_eq!((grouping.sizes(), grouping.order()), (&[2, 2, 1][..], &[0, 2, 1, 4, 3][..]));
        let gathered = grouping.gather(&[10, 11, 12, 13, 14]);
        assert_eq!(gathered, [10, 12, 11, 14, 13]);
        assert_eq!(grouping.scatter(&gathered), [10, 11, 12, 13, 14]);
    }
}
