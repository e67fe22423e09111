//! Advantages for groups of attempts of which one has to be right.

use super::{
    columns::{AdvantageError, Advantages, check_groups},
    group_relative::{DEVIATION_FLOOR, unbiased_deviation},
};
use crate::{
    groups::groups,
    parameter::{Settings, check, settings},
};

/// The best of each group over the second best, everyone else 0, `[samples]`.
///
/// `(R_best - R_second) / (std + 1e-6)`. The first of several best is taken, and gets 0.
///
/// Source: verl `grpo_passk`, after [arXiv:2503.19595](https://arxiv.org/abs/2503.19595).
pub(super) fn best_of_group(rewards: &[f64], group_sizes: &[usize]) -> Advantages {
    check_groups(("rewards", rewards), group_sizes, 2)?;
    let mut advantages = vec![0.0; rewards.len()];
    let mut begin = 0;
    for group in groups(rewards, group_sizes) {
        let (mut best, mut second) = (0, f64::NEG_INFINITY);
        for (sample, &reward) in group.iter().enumerate().skip(1) {
            if reward > group[best] {
                second = group[best];
                best = sample;
            } else {
                second = second.max(reward);
            }
        }
        let scale = unbiased_deviation(group) + DEVIATION_FLOOR;
        advantages[begin + best] = (group[best] - second) / scale;
        begin += group.len();
    }
    Ok(advantages)
}

settings! {
    /// Training on pass@k: how many attempts a set has.
    ///
    /// Default: `4`.
    #[derive(Eq)]
    pub struct PassAtK {
        /// Attempts in a set, from 1 to the size of a group.
        pub k: usize = 4;
    } also |settings| {
        check("k", settings.k as f64, "1 or more", |k| k >= 1.0).map(drop)
    }
}

impl PassAtK {
    /// Pass@k training, `[samples]`: the advantage of a sample is the mean, over all sets of `k` that
    /// hold it, of the set's advantage; a set is right if one of its members is.
    ///
    /// With `n` samples of which `w` are wrong, over all sets
    ///
    /// ```text
    /// mean  ρ = 1 - C(w, k) / C(n, k)        deviation  σ = √(ρ (1 - ρ))
    /// right   = (1 - ρ) / σ
    /// wrong   = (1 - ρ - C(w-1, k-1) / C(n-1, k-1)) / σ
    /// ```
    ///
    /// It is 0 if no set or every set is right. For `k = 1` it is GRPO with the population's deviation.
    ///
    /// Source: Chen et al. 2025, [arXiv:2508.10751](https://arxiv.org/abs/2508.10751), analytical form.
    pub(super) fn advantages(self, rewards: &[f64], group_sizes: &[usize]) -> Advantages {
        self.check()?;
        let k = self.k;
        check_groups(("rewards", rewards), group_sizes, k)?;
        if let Some(index) = rewards.iter().position(|reward| ![0.0, 1.0].contains(reward)) {
            let value = rewards[index];
            return Err(AdvantageError(format!(
                "`rewards` is {value} at sample {index}, expected 0 or 1"
            )));
        }
        let mut advantages = Vec::with_capacity(rewards.len());
        for group in groups(rewards, group_sizes) {
            let wrong = group.iter().filter(|&&reward| reward == 0.0).count();
            let all_wrong = share_of_sets(wrong, group.len(), k);
            let deviation = (all_wrong * (1.0 - all_wrong)).sqrt();
            let of_wrong = if wrong == 0 {
                0.0
            } else {
                all_wrong - share_of_sets(wrong - 1, group.len() - 1, k - 1)
            };
            advantages.extend(group.iter().map(|&reward| {
                let above_mean = if reward == 0.0 { of_wrong } else { all_wrong };
                if deviation > 0.0 { above_mean / deviation } else { 0.0 }
            }));
        }
        Ok(advantages)
    }
}

/// `C(part, k) / C(whole, k)`, a fraction: the share of the sets of `k` among `whole` that lie inside `part` of them.
///
/// With `part` the wrong ones of `n` attempts it is `1 - pass@k`.
///
/// Source: Chen et al. 2021, [arXiv:2107.03374](https://arxiv.org/abs/2107.03374), the product form of Fig. 3.
pub fn share_of_sets(part: usize, whole: usize, k: usize) -> f64 {
    if part < k {
        return 0.0;
    }
    (0..k).map(|i| (part - i) as f64 / (whole - i) as f64).product()
}
