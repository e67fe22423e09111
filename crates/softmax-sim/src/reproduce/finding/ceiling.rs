//! When entropy is spent, reward has come to its ceiling `b - a`.

use super::law_runs::{ALGORITHMS, law, on_bandits};
use crate::reproduce::charts::chart;
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use crate::training::Curve;
use figures::{Axis, Chart, Mark, Series};

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = setting.over_runs(progress, &ALGORITHMS, on_bandits);
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
    ExperimentResult::new(measures).figure(ceilings(&runs[0]))
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
    let x = Axis::of_categories("Algorithm", &ALGORITHMS.map(|algorithm| algorithm.name));
    chart("ceiling", x, y, series)
}
