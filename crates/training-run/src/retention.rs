//! Retention of checkpoints: which are deleted when a new one has been written.

use std::collections::BTreeMap;

use crate::config::CheckpointSection;
use crate::metrics::StepMetrics;

/// Maps steps to their value of a metric; the last value if a step was measured twice.
pub(crate) fn scores(history: &[StepMetrics], metric: &str) -> BTreeMap<u64, f64> {
    let score = |step: &StepMetrics| Some((step.step(), step.get(metric)?));
    history.iter().filter_map(score).collect()
}

/// Steps of the checkpoints to delete, oldest first: those that no rule keeps. The newest is never among them.
///
/// A checkpoint is its step and its score, higher is better; `None` if nothing was measured at that step. Among equal scores the
/// later checkpoint is better; NaN is no score.
pub(crate) fn surplus(rules: &CheckpointSection, checkpoints: &[(u64, Option<f64>)]) -> Vec<u64> {
    if rules.keep == 0 {
        return Vec::new();
    }
    let mut steps: Vec<u64> = checkpoints.iter().map(|&(step, _)| step).collect();
    steps.sort_unstable();
    steps.dedup();
    steps.truncate(steps.len().saturating_sub(rules.keep));
    let scored = checkpoints.iter().filter_map(|&(step, score)| Some((score?, step)));
    let mut ranked: Vec<(f64, u64)> = scored.filter(|(score, _)| !score.is_nan()).collect();
    ranked.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
    ranked.truncate(rules.keep_best);
    let every = |step: u64| rules.keep_every > 0 && step.is_multiple_of(rules.keep_every);
    steps.retain(|&step| !every(step) && !ranked.iter().any(|&(_, best)| best == step));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rules(keep: usize, keep_every: u64, keep_best: usize) -> CheckpointSection {
        CheckpointSection { keep, keep_every, keep_best, ..CheckpointSection::default() }
    }

    #[test]
    fn a_checkpoint_stays_if_any_rule_keeps_it() {
        let checkpoints = [
            (10, Some(0.1)),
            (20, Some(0.9)),
            (30, None),
            (40, Some(0.2)),
            (50, Some(0.3)),
            (60, Some(f64::NAN)),
            (70, Some(0.4)),
        ];
        assert_eq!(surplus(&rules(2, 40, 1), &checkpoints), [10, 30, 50]);
        assert_eq!(surplus(&rules(2, 0, 0), &checkpoints), [10, 20, 30, 40, 50]);
        assert_eq!(surplus(&rules(0, 40, 1), &checkpoints), [0; 0]);
        let equal = [(1, Some(0.5)), (2, Some(0.5)), (3, None)];
        assert_eq!(surplus(&rules(1, 0, 1), &equal), [1], "the later is the better");
    }

    proptest! {
        #[test]
        fn the_newest_and_the_best_always_stay(
            scores in prop::collection::btree_map(0_u64..60, prop::option::of(-1.0_f64..1.0), 1..30),
            keep in 1_usize..5,
            keep_every in 0_u64..9,
            keep_best in 0_usize..4,
        ) {
            let rules = rules(keep, keep_every, keep_best);
            let all: Vec<(u64, Option<f64>)> = scores.into_iter().collect();
            let gone = surplus(&rules, &all);
            let rest: Vec<_> = all.iter().filter(|(step, _)| !gone.contains(step)).copied().collect();
            prop_assert_eq!(rest.last(), all.last());
            let best = all.iter().filter_map(|checkpoint| checkpoint.1).reduce(f64::max);
            prop_assert!(keep_best == 0 || best.is_none() || rest.iter().any(|kept| kept.1 == best));
            let multiples = all.iter().filter(|(step, _)| keep_every > 0 && step % keep_every == 0);
            prop_assert!(rest.len() >= keep.min(all.len()));
            prop_assert!(rest.len() <= keep + keep_best + multiples.count());
            prop_assert_eq!(surplus(&rules, &rest), [0_u64; 0], "deleting again deletes nothing");
        }
    }
}
