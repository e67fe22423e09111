//! Algorithms are clocks: without sampling they run along one curve at different speeds.

use crate::environment::TabularSetting;
use crate::reproduce::charts::{chart, heights, places};
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Target};
use crate::training::{ExpectedPoint, ExpectedRule, ExpectedTrainer};
use figures::{Chart, Mark, Series};
use rayon::prelude::*;

/// The finding.
pub(super) const FINDING: Finding = Finding {
    name: "clocks",
    title: "Algorithms run along one curve, each by its own clock",
    claim: "The curve of reward against entropy does not depend on the algorithm. Section 2.4, Figure 6.",
    method: "The expected steps of policy gradient, RLOO, Dr. GRPO and REINFORCE++ differ by one factor for all prompts, \
             that of GRPO by one that depends on the prompt's success only. Expected updates without sampling, in the \
             limit of small steps (midpoint rule), on the 1024 bandits of the law (L1), exact entropy and reward; until \
             entropy has fallen to 0.05 nats. Each rule's reward is compared with the policy gradient's at equal \
             entropy, interpolated along its curve.",
    target: "The largest difference of reward at equal entropy: for Dr. GRPO (factor 1 - 1/8) and REINFORCE++ \
             (1/σ) at most 5e-4, for GRPO with groups of 8 at most 0.005; for the natural policy gradient at least 0.02, \
             as it is not the same geometry.",
    theory: &["group-clock"],
    sources: &[include_str!("clocks.rs")],
    run,
};

/// Time step of the policy gradient.
const RATE: f64 = 0.5;
/// Curves are compared down to this entropy, in nats.
const LOWEST: f64 = 0.05;

/// Name, rule, time step (the faster the clock, the smaller, so that all take steps of like size) and target of the
/// difference of reward at equal entropy.
const RULES: [(&str, ExpectedRule, f64, Target); 4] = [
    ("Dr. GRPO", ExpectedRule::DrGrpo { group_size: 8 }, RATE, Target::AtMost(5e-4)),
    ("REINFORCE++", ExpectedRule::ReinforcePlusPlus, 0.1, Target::AtMost(5e-4)),
    ("GRPO", ExpectedRule::Grpo { group_size: 8 }, 0.25, Target::AtMost(5e-3)),
    ("natural policy gradient", ExpectedRule::NaturalPolicyGradient, 0.1, Target::AtLeast(0.02)),
];

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let prompts = setting.pick(512, 1024);
    progress.plan((setting.seeds * (1 + RULES.len())) as u64);
    let curves: Vec<(Vec<ExpectedPoint>, Vec<Vec<ExpectedPoint>>)> = setting.over_seeds(|seed| {
        let environment = TabularSetting { prompts, ..TabularSetting::LAW }.draw(seed);
        let run = |rule: ExpectedRule, rate: f64| {
            let mut trainer = ExpectedTrainer::new(&environment.training, &environment.start);
            let curve = descend(&mut trainer, rule, rate);
            progress.advance(1);
            curve
        };
        let rest = RULES.par_iter().map(|(_, rule, rate, _)| run(*rule, *rate)).collect();
        (run(ExpectedRule::PolicyGradient, RATE), rest)
    });
    let measures = RULES.iter().enumerate().map(|(index, (name, _, _, target))| {
        let values = curves.iter().map(|(reference, rest)| apart(reference, &rest[index]));
        Measure::new(format!("{name}: difference of reward at equal entropy"), values, *target)
    });
    let (reference, rest) = &curves[0];
    ExperimentResult::new(measures.collect())
        .figure(
            against_entropy(reference, rest),
            "First seed: three rules lie on the policy gradient's curve, GRPO nearly, the natural gradient does not.",
        )
        .note(
            "RLOO has the expected step of the policy gradient itself, factor 1, and is not shown twice. What sampling \
             adds to this picture is seen in the finding on the law.",
        )
}

/// Steps until entropy has fallen below [`LOWEST`]; the curve, from its start.
fn descend(trainer: &mut ExpectedTrainer<'_>, rule: ExpectedRule, rate: f64) -> Vec<ExpectedPoint> {
    const MOST: usize = 40_000;
    let mut curve = vec![trainer.point()];
    let mut every = 1;
    for step in 1..=MOST {
        trainer.flow(rule, rate);
        if step % every == 0 {
            let point = trainer.point();
            curve.push(point);
            if point.entropy < LOWEST {
                break;
            }
            // Evaluations as dense as the curve bends: about one in two hundred of the way so far.
            every = (step / 200).max(1);
        }
    }
    curve
}

/// Largest difference of reward at equal entropy, down to [`LOWEST`].
///
/// Mean entropy may rise for a while, so a curve can pass an entropy more than once: the nearest passage
/// counts, and a point that no piece of the reference passes is left out.
fn apart(reference: &[ExpectedPoint], curve: &[ExpectedPoint]) -> f64 {
    let inside = curve.iter().filter(|point| point.entropy >= LOWEST);
    inside.filter_map(|point| nearest(reference, point)).fold(0.0, f64::max)
}

/// Difference of reward to the nearest passage of `reference` through the entropy of `point`.
fn nearest(reference: &[ExpectedPoint], point: &ExpectedPoint) -> Option<f64> {
    let differences = reference.windows(2).filter_map(|piece| {
        let (from, to) = (piece[0], piece[1]);
        let share = (point.entropy - from.entropy) / (to.entropy - from.entropy);
        let reward = from.reward + share * (to.reward - from.reward);
        (0.0..=1.0).contains(&share).then(|| (reward - point.reward).abs())
    });
    differences.min_by(f64::total_cmp)
}

fn against_entropy(reference: &[ExpectedPoint], rest: &[Vec<ExpectedPoint>]) -> Chart {
    let points = |curve: &[ExpectedPoint]| -> Vec<(f64, f64)> {
        let every = (curve.len() / 60).max(1);
        curve.iter().step_by(every).map(|point| (point.entropy, point.reward)).collect()
    };
    let mut series = vec![Series::new("policy gradient", 0, Mark::Line, points(reference))];
    for (index, ((name, ..), curve)) in std::iter::zip(RULES, rest).enumerate() {
        series.push(Series::new(name, index + 1, Mark::Points, points(curve)));
    }
    let texts = [
        "clocks",
        "Reward against entropy, without sampling",
        "All curves but the natural gradient's coincide.",
    ];
    let x = places("Entropy (nats)", &series, 0.03);
    chart(texts, x, heights("Expected reward", &series, false), series)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(entropy: f64, reward: f64) -> ExpectedPoint {
        ExpectedPoint { entropy, reward }
    }

    #[test]
    fn curves_are_compared_at_equal_entropy_on_the_nearest_passage() {
        // Falls, rises a little, falls again: entropy 0.85 is passed three times.
        let reference = [point(1.0, 0.0), point(0.8, 0.2), point(0.9, 0.3), point(0.2, 1.0)];
        assert!((apart(&reference, &[point(0.85, 0.36)]) - 0.01).abs() < 1e-12);
        assert!((apart(&reference, &[point(0.85, 0.16)]) - 0.01).abs() < 1e-12);
        let outside = [point(1.1, 0.0), point(LOWEST / 2.0, 5.0)];
        assert!(apart(&reference, &outside).abs() < 1e-12);
    }
}
