//! Retention of checkpoints: which are deleted when a new one has been written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metrics::StepMetrics;

/// Number of checkpoints that stay; a checkpoint stays if any rule keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retention {
    /// Keeps the last so many; 0 keeps all.
    pub keep_last: usize,
    /// Keeps those whose step is a multiple of this; 0 disables the rule.
    pub keep_every: u64,
    /// Keeps so many with the highest score; 0 disables the rule.
    pub keep_best: usize,
}

/// A checkpoint as the rules see it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredCheckpoint {
    /// Number of steps done when it was taken.
    pub step: u64,
    /// Score, higher is better; `None` if nothing was measured at that step.
    pub score: Option<f64>,
}

/// Maps steps to their value of a metric; the last value if a step was measured twice.
pub fn scores(history: &[StepMetrics], metric: &str) -> BTreeMap<u64, f64> {
    let score = |step: &StepMetrics| Some((step.step(), step.get(metric)?));
    history.iter().filter_map(score).collect()
}

impl Retention {
    /// Steps of the checkpoints to delete, oldest first. The newest is never among them.
    ///
    /// Among equal scores the later checkpoint is better; NaN is no score.
    pub fn surplus(&self, checkpoints: &[ScoredCheckpoint]) -> Vec<u64> {
        if self.keep_last == 0 {
            return Vec::new();
        }
        let mut steps: Vec<u64> = checkpoints.iter().map(|checkpoint| checkpoint.step).collect();
        steps.sort_unstable();
        steps.dedup();
        let last = steps.len().saturating_sub(self.keep_last.max(1));
        let best = self.best(checkpoints);
        let every = |step: u64| self.keep_every > 0 && step.is_multiple_of(self.keep_every);
        steps.truncate(last);
        steps.retain(|&step| !every(step) && !best.contains(&step));
        steps
    }

    fn best(&self, checkpoints: &[ScoredCheckpoint]) -> Vec<u64> {
        let scored =
            checkpoints.iter().filter_map(|c| Some((c.score.filter(|s| !s.is_nan())?, c.step)));
        let mut ranked: Vec<(f64, u64)> = scored.collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        ranked.into_iter().take(self.keep_best).map(|(_, step)| step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scored(scores: &[(u64, Option<f64>)]) -> Vec<ScoredCheckpoint> {
        scores.iter().map(|&(step, score)| ScoredCheckpoint { step, score }).collect()
    }

    #[test]
    fn a_checkpoint_stays_if_any_rule_keeps_it() {
        let rules = Retention { keep_last: 2, keep_every: 40, keep_best: 1 };
        let listing = scored(&[
            (10, Some(0.1)),
            (20, Some(0.9)),
            (30, None),
            (40, Some(0.2)),
            (50, Some(0.3)),
            (60, Some(f64::NAN)),
            (70, Some(0.4)),
        ]);
        assert_eq!(rules.surplus(&listing), [10, 30, 50]);
        let only_last = Retention { keep_every: 0, keep_best: 0, ..rules };
        assert_eq!(only_last.surplus(&listing), [10, 20, 30, 40, 50]);
        assert_eq!(Retention { keep_last: 0, ..rules }.surplus(&listing), [0; 0]);
    }

    #[test]
    fn of_equal_scores_the_later_is_the_better() {
        let rules = Retention { keep_last: 1, keep_every: 0, keep_best: 1 };
        assert_eq!(rules.surplus(&scored(&[(1, Some(0.5)), (2, Some(0.5)), (3, None)])), [1]);
    }

    proptest! {
        #[test]
        fn the_newest_and_the_best_always_stay(
            scores in prop::collection::btree_map(0_u64..60, prop::option::of(-1.0_f64..1.0), 1..30),
            keep_last in 1_usize..5,
            keep_every in 0_u64..9,
            keep_best in 0_usize..4,
        ) {
            let rules = Retention { keep_last, keep_every, keep_best };
            let listing: Vec<_> = scores.iter().map(|(&step, &score)| ScoredCheckpoint { step, score }).collect();
            let gone = rules.surplus(&listing);
            let stays = |step: u64| !gone.contains(&step);
            let newest = listing.last().expect("there is one").step;
            prop_assert!(stays(newest));
            if keep_best > 0
                && let Some(best) = listing.iter().filter_map(|c| c.score).reduce(f64::max)
            {
                prop_assert!(listing.iter().any(|c| c.score == Some(best) && stays(c.step)));
            }
            let left = listing.len() - gone.len();
            let multiples = listing.iter().filter(|c| keep_every > 0 && c.step % keep_every == 0).count();
            prop_assert!(left >= keep_last.min(listing.len()));
            prop_assert!(left <= keep_last + keep_best + multiples);
            // Deleting again deletes nothing.
            let rest: Vec<_> = listing.iter().filter(|c| stays(c.step)).copied().collect();
            prop_assert_eq!(rules.surplus(&rest), [0_u64; 0]);
        }
    }
}
