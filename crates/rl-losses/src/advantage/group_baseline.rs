//! Other baselines within a group: OPO, GPG, quantile.

use super::{
    RolloutColumns,
    columns::{Advantages, check_groups, check_samples},
    group_relative::{DEVIATION_FLOOR, mean, per_group, unbiased_deviation},
};
use crate::{
    groups::groups,
    parameter::{Settings, settings},
};

/// OPO, `[samples]`: `R - Σ L R / Σ L` over the group, the baseline of least variance where a long
/// response has a proportionally larger gradient.
///
/// A group of one has baseline 0, as in verl; so has a group without any token.
///
/// Source: Hao et al. 2025, [arXiv:2505.23585](https://arxiv.org/abs/2505.23585); verl `opo`.
pub(super) fn opo(columns: &RolloutColumns<'_>) -> Advantages {
    let RolloutColumns { rewards, group_sizes, sequence_lengths, .. } = *columns;
    check_groups(("rewards", rewards), group_sizes, 1)?;
    check_samples("rewards", rewards, sequence_lengths.len())?;
    let lengths: Vec<f64> = sequence_lengths.iter().map(|&length| length as f64).collect();
    let mut of_group = groups(&lengths, group_sizes);
    // One call a group, in order: the lengths advance beside the rewards.
    per_group(rewards, group_sizes, |group| {
        let lengths = of_group.next().unwrap_or_default();
        let total: f64 = lengths.iter().sum();
        if group.len() == 1 || total == 0.0 {
            return (0.0, 1.0);
        }
        let weighted: f64 = std::iter::zip(group, lengths).map(|(r, l)| r * l).sum();
        (weighted / total, 1.0)
    })
}

/// GPG, `[samples]`: `α (R - mean)` with `α` = samples / samples with a reward other than 0.
///
/// Scope: `α` is counted over exactly the samples given; pass the whole batch. A group of one has
/// mean 0.
///
/// Source: Chu et al. 2025, [arXiv:2504.02546](https://arxiv.org/abs/2504.02546); verl `gpg` with
/// its `f_norm = 1`.
pub(super) fn gpg(rewards: &[f64], group_sizes: &[usize]) -> Advantages {
    let rewarded = rewards.iter().filter(|&&reward| reward != 0.0).count().max(1);
    let scale = rewarded as f64 / rewards.len() as f64;
    per_group(rewards, group_sizes, |group| match group {
        [_] => (0.0, scale),
        _ => (mean(group), scale),
    })
}

settings! {
    /// A quantile of the group as baseline.
    ///
    /// Default: `0.4`.
    pub struct QuantileBaseline {
        /// Level `K` of the group's quantile, in 0..=1.
        pub quantile: f64 = 0.4, check_unit;
    }
}

impl QuantileBaseline {
    /// Quantile advantage estimation (QAE), `[samples]`: `(R - Q_K) / (std + 1e-6)` with the group's
    /// quantile `Q_K = min { r : share of rewards ≤ r is at least K }`.
    ///
    /// With rewards 0 and 1 and a share `p` of right answers: where `p ≤ 1 - K` the baseline is 0 and
    /// only right answers count, elsewhere it is 1 and only wrong ones do. A group of one gets 0.
    ///
    /// Source: Wu et al. 2025, [arXiv:2509.22611](https://arxiv.org/abs/2509.22611).
    pub(super) fn advantages(self, rewards: &[f64], group_sizes: &[usize]) -> Advantages {
        self.check()?;
        per_group(rewards, group_sizes, |group| match group {
            [reward] => (*reward, 1.0),
            _ => {
                (lower_quantile(group, self.quantile), unbiased_deviation(group) + DEVIATION_FLOOR)
            }
        })
    }
}

fn lower_quantile(group: &[f64], level: f64) -> f64 {
    let mut ascending = group.to_vec();
    ascending.sort_unstable_by(f64::total_cmp);
    // The slack keeps 0.6 of 10 at 6 whatever the product rounds to.
    let enough = level * group.len() as f64 - 1e-9;
    let rank = (1..group.len()).find(|&rank| rank as f64 >= enough).unwrap_or(group.len());
    ascending[rank - 1]
}
