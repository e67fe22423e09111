//! When entropy is spent, reward has come to its ceiling `b - a`.

use super::law_runs::{ALGORITHMS, law, of_all_algorithms, on_bandits};
use crate::reproduce::charts::chart;
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Target};
use crate::training::Curve;
use figures::{Axis, Chart, Mark, Series};

/// The finding.
pub(super) const FINDING: Finding = Finding {
    name: "ceiling",
    title: "With its entropy spent a policy stands at the ceiling b − a",
    claim: "At H = 0 the law gives reward b - a, so a run with exhausted entropy cannot improve further. Section \
            2.4, Equation 6.",
    method: "The runs of the finding on the law: six algorithms on 1024 bandits (L1). The law is fitted to all \
             evaluations of a run; its value at zero entropy is compared with the expected reward after the last update.",
    target: "For each algorithm the ceiling lies within 0.01 of the reward at the end; entropy at the \
             end is below 0.03 nats.",
    theory: &["performance-law"],
    sources: &[
        include_str!("ceiling.rs"),
        include_str!("law_runs.rs"),
        include_str!("../engine.rs"),
    ],
    run,
};

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = of_all_algorithms(setting, progress, on_bandits);
    let gaps = ALGORITHMS.iter().enumerate().map(|(index, algorithm)| {
        let quantity = format!("ceiling against reward at the end, {}", algorithm.name);
        Measure::new(quantity, runs.iter().map(|curves| gap(&curves[index])), Target::AtMost(0.01))
    });
    let mut measures: Vec<Measure> = gaps.collect();
    let spent = runs
        .iter()
        .map(|curves| curves.iter().map(|curve| curve.last().entropy).fold(0.0, f64::max));
    let spent = Measure::new("largest entropy at the end", spent, Target::AtMost(0.03));
    measures.push(spent.in_unit("nat"));
    ExperimentResult::new(measures)
        .figure(
            ceilings(&runs[0]),
            "First seed: the ceiling of each law beside the reward after the last update.",
        )
        .note(
            "The ceiling is a property of the run, not of the task: every bandit has an action of quality 1, so a \
             policy that never gave up a good action too early would end at 1. What is missing was lost to premature \
             commitment.",
        )
}

/// Distance of ceiling and last reward.
fn gap(curve: &Curve) -> f64 {
    (law(curve).ceiling() - curve.last().reward).abs()
}

fn ceilings(curves: &[Curve]) -> Chart {
    let points = |of: fn(&Curve) -> f64| -> Vec<(f64, f64)> {
        curves.iter().enumerate().map(|(index, curve)| (index as f64, of(curve))).collect()
    };
    let series = vec![
        Series::new("ceiling b − a", 0, Mark::Points, points(|curve| law(curve).ceiling())),
        Series::new("reward at the end", 1, Mark::Points, points(|curve| curve.last().reward)),
    ];
    let heights = series.iter().flat_map(Series::heights);
    let y = Axis::around("Expected reward", heights, false, 0.1);
    let texts = [
        "ceiling",
        "Ceiling and reward at the end",
        "Pairs of markers of nearly equal height, one pair an algorithm.",
    ];
    let x = Axis::of_categories("Algorithm", &ALGORITHMS.map(|algorithm| algorithm.name));
    chart(texts, x, y, series)
}
