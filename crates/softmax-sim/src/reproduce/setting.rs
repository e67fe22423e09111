//! Size and seeds of an experiment.

use super::progress::Progress;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

/// How large an experiment is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Seconds: shows that it runs and which way it points.
    Quick,
    /// Minutes: the one the targets are meant for.
    Full,
}

/// Size and seeds, on which the outcome of an experiment depends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// Size of the experiment.
    pub scale: Scale,
    /// The first seed.
    pub seed: u64,
    /// Number of consecutive seeds from the first on; at least 3.
    pub seeds: usize,
}

impl Setting {
    /// Three seeds of a short run.
    #[cfg(test)]
    pub(super) const SHORT: Self = Self { scale: Scale::Quick, seed: 3, seeds: 3 };

    /// The first seed, unless another is asked for.
    pub const DEFAULT_SEED: u64 = 0;

    /// Number of seeds, unless another is asked for: 12, or 3 of a quick run.
    pub fn default_seeds(scale: Scale) -> usize {
        match scale {
            Scale::Quick => 3,
            Scale::Full => 12,
        }
    }

    /// In words: `Full size, seeds 0 to 2`.
    pub fn text(&self) -> String {
        let last = self.seed + self.seeds.saturating_sub(1) as u64;
        format!("{} size, seeds {} to {last}", self.pick("Quick", "Full"), self.seed)
    }

    /// `quick` or `full`, whichever the scale is.
    pub fn pick<T>(&self, quick: T, full: T) -> T {
        match self.scale {
            Scale::Quick => quick,
            Scale::Full => full,
        }
    }

    /// Every seed.
    pub fn all_seeds(&self) -> impl Iterator<Item = u64> + use<> {
        let first = self.seed;
        (0..self.seeds as u64).map(move |index| first + index)
    }

    /// Runs `experiment` once a seed, on as many threads as there are; results in the order of the seeds.
    pub fn over_seeds<T: Send>(&self, experiment: impl Fn(u64) -> T + Sync) -> Vec<T> {
        let seeds: Vec<u64> = self.all_seeds().collect();
        seeds.into_par_iter().map(&experiment).collect()
    }

    /// Runs `experiment` once a seed with each of `items`, `[seeds][items]`; every run is a step of `progress`.
    pub fn over_runs<Item: Sync, T: Send>(
        &self,
        progress: &Progress,
        items: &[Item],
        experiment: impl Fn(u64, &Item) -> T + Sync,
    ) -> Vec<Vec<T>> {
        progress.plan((self.seeds * items.len()) as u64);
        let run = |seed: u64, item: &Item| {
            let result = experiment(seed, item);
            progress.advance(1);
            result
        };
        self.over_seeds(|seed| items.par_iter().map(|item| run(seed, item)).collect())
    }
}
