//! Algorithms are clocks: without sampling they run along one curve at different speeds.

use crate::environment::TabularSetting;
use crate::reproduce::charts::{chart, heights, places};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use crate::training::{ExpectedPoint, ExpectedRule, ExpectedTrainer};
use figures::{Chart, Mark, Series};

/// Time step of the policy gradient.
const RATE: f64 = 0.5;
/// Curves are compared down to this entropy, in nats.
const LOWEST: f64 = 0.05;

/// Name, rule, time step (the faster the clock, the smaller, so that all take steps of like size) and target of the
/// difference of reward at equal entropy from the first.
const RULES: [(&str, ExpectedRule, f64, Target); 5] = [
    ("policy gradient", ExpectedRule::PolicyGradient, RATE, Target::None),
    ("Dr. GRPO", ExpectedRule::DrGrpo { group_size: 8 }, RATE, Target::AtMost(5e-4)),
    ("REINFORCE++", ExpectedRule::ReinforcePlusPlus, 0.1, Target::AtMost(5e-4)),
    ("GRPO", ExpectedRule::Grpo { group_size: 8 }, 0.25, Target::AtMost(5e-3)),
    ("natural policy gradient", ExpectedRule::NaturalPolicyGradient, 0.1, Target::AtLeast(0.02)),
];

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let prompts = setting.pick(512, 1024);
    let curves = setting.over_runs(progress, &RULES, |seed, (_, rule, rate, _)| {
        let environment = TabularSetting { prompts, ..TabularSetting::LAW }.draw(seed);
        let mut trainer = ExpectedTrainer::new(&environment.training, &environment.start);
        descend(&mut trainer, *rule, *rate)
    });
    let measures = RULES.iter().enumerate().skip(1).map(|(index, (name, _, _, target))| {
        let values = curves.iter().map(|curves| apart(&curves[0], &curves[index]));
        Measure::new(format!("{name}: difference of reward at equal entropy"), values, *target)
    });
    ExperimentResult::new(measures.collect()).figure(against_entropy(&curves[0]))
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

fn against_entropy(curves: &[Vec<ExpectedPoint>]) -> Chart {
    let points = |curve: &[ExpectedPoint]| -> Vec<(f64, f64)> {
        let every = (curve.len() / 60).max(1);
        curve.iter().step_by(every).map(|point| (point.entropy, point.reward)).collect()
    };
    let mut series = vec![];
    for (index, ((name, ..), curve)) in std::iter::zip(RULES, curves).enumerate() {
        let mark = if index == 0 { Mark::Line } else { Mark::Points };
        series.push(Series::new(name, index, mark, points(curve)));
    }
    let x = places("Entropy (nats)", &series, 0.03);
    chart("clocks", x, heights("Expected reward", &series, false), series)
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
