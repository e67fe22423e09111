//! Clip-higher: what the upper bound of PPO's clip does, and where it does nothing.

use super::arena::{Arena, Run, Trial, grpo_clipped, unclipped};
use super::show::{entropy_chart, reward_chart, tables};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};

pub(in super::super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), &Arena::fast(setting), setting, progress)
}

fn run_in(slow: &Arena, fast: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let methods = [
        ("GRPO, clip 0.2", grpo_clipped(0.2)),
        ("clip-higher, 0.28", grpo_clipped(0.28)),
        ("no clip", unclipped()),
    ];
    let [small, large] = [slow, fast].map(|arena| arena.runs(setting, progress, methods.clone()));
    let [small_table, large_table] = tables(&small, &large);
    ExperimentResult::new(measures(&small, &large))
        .figure(reward_chart("clip-higher-reward", &large))
        .figure(entropy_chart("clip-higher-entropy", &large))
        .table(large_table)
        .table(small_table)
}

fn measures(small: &[Trial], large: &[Trial]) -> Vec<Measure> {
    let with = |steps: &str, what: &str, values, target| {
        Measure::new(format!("{steps} steps: {what}"), values, target)
    };
    let large_steps = |what: &str, values: Vec<f64>, target| with("large", what, values, target);
    let small_steps = |what: &str, values: Vec<f64>, target| with("small", what, values, target);
    let entropy = large[1].entropy_over(&large[0]);
    let [small_gain, gain] = [small, large].map(|trials| trials[1].reward_above(&trials[0]));
    let without = large[2].reward_above(&large[0]);
    let drop = large[1].each(drop_from_highest);
    let [small_clip, clip] =
        [small, large].map(|trials| trials[0].each(|run| run.sums.clip_fraction()));
    vec![
        large_steps("entropy over that of the baseline", entropy, Target::AtLeast(1.0)),
        large_steps("reward above the baseline", gain, Target::AtLeast(0.03)),
        small_steps("reward above the baseline", small_gain, Target::Between(-0.02, 0.02)),
        large_steps("drop from the highest reward", drop, Target::AtLeast(0.01)),
        large_steps("reward without a clip above the baseline", without, Target::None),
        large_steps("fraction of tokens clipped, baseline", clip, Target::None),
        small_steps("fraction of tokens clipped, baseline", small_clip, Target::None),
    ]
}

/// Highest reward of the run less the last.
fn drop_from_highest(run: &Run) -> f64 {
    let highest = run.curve.rewards().into_iter().fold(f64::NEG_INFINITY, f64::max);
    highest - run.end().reward
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_matters_with_large_steps_only() {
        let [slow, fast] = [Arena::of(8, 1e-3, 20, 10), Arena::of(8, 2.0, 60, 10)];
        let outcome = run_in(&slow, &fast, &Setting::SHORT, &Progress::silent());
        assert!(outcome.measures[2].values.iter().all(|gain| gain.abs() < 1e-12), "not clipped");
        assert!(outcome.measures[1].values.iter().all(|gain| gain.abs() > 1e-6), "clipped");
        assert!(outcome.measures[3].values.iter().all(|drop| *drop >= 0.0));
    }
}
