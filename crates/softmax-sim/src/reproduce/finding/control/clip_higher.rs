//! Clip-higher: what the upper bound of PPO's clip does, and where it does nothing.

use super::arena::{Arena, Run, Trial, grpo_clipped, unclipped};
use super::show::{Named, entropy_chart, reward_chart, table};
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Target};

/// The finding.
pub(in super::super) const FINDING: Finding = Finding {
    name: "clip-higher",
    title: "Clip-higher acts where steps leave the trust region, and nowhere else",
    claim: "A higher upper clip bound (0.28) first gives more entropy and reward than the baseline. It then \
            becomes unstable, and performance saturates and drops. Section 4.3, Figure 11.",
    method: "GRPO with the ratio clipped at 0.2 on both sides, with 0.28 above, and not at all, on the token world of \
             entropy control: small steps that stay inside the clip (C2, learning rate 0.3, 3000 rollouts) and large ones \
             that do not (C1, learning rate 1, 1500 rollouts).",
    target: "With large steps: more entropy than the baseline after training and a reward at least 0.03 \
             higher. With small steps, where the clip is out of reach: reward within 0.02 of the baseline's. And, as the \
             paper has it, with large steps a drop of at least 0.01 from the highest reward of the run to the last.",
    theory: &["clipped-surrogate"],
    sources: &[include_str!("clip_higher.rs"), include_str!("arena.rs"), include_str!("show.rs")],
    run,
};

const NAMES: [&str; 3] = ["GRPO, clip 0.2", "clip-higher, 0.28", "no clip"];

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    run_in(&Arena::slow(setting), &Arena::fast(setting), setting, progress)
}

fn run_in(slow: &Arena, fast: &Arena, setting: &Setting, progress: &Progress) -> ExperimentResult {
    let methods = [grpo_clipped(0.2), grpo_clipped(0.28), unclipped()];
    let [small, large] = [slow, fast].map(|arena| arena.runs(setting, progress, &methods));
    let named = |trials| std::iter::zip(NAMES, trials).collect::<Vec<Named>>();
    let heading = |steps: &str| format!("{steps}, after training: mean over seeds, 0.95 interval.");
    ExperimentResult::new(measures(&small, &large))
        .figure(
            reward_chart("clip-higher-reward", "Reward with large steps", &named(&large)),
            "Means with 0.95 intervals over the seeds. What clip-higher gains, no clip at all gains too, and more.",
        )
        .figure(
            entropy_chart("clip-higher-entropy", "Entropy with large steps", &named(&large)),
            "The clip cuts tokens that rise from small probabilities; without it entropy falls furthest.",
        )
        .table(table(&heading("Large steps (C1)"), &named(&large)))
        .table(table(&heading("Small steps (C2)"), &named(&small)))
        .note(
            "The instability that the paper saw late in training has no counterpart in these environments: free \
             logits, exact rewards and no shared weights leave nothing to destabilise. That target is the paper's \
             statement and is kept as such.",
        )
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
