//! Charts over the updates, and differences of equal seeds.

use figures::Figure;
use figures::chart::{Axis, Mark, Series};
use figures::moving_average::smoothed;

use super::cell::{SeedRun, Study};
use crate::report::{mean_curve, steps_figure};

pub(super) type OverSteps = fn(&SeedRun) -> Vec<(f64, f64)>;

/// Draws a quantity of methods on a model: mean over the seeds in its 0.95 interval.
pub(super) fn chart(
    (study, model): (&Study, &str),
    methods: &[&str],
    (stem, title, label): (&str, &str, &str),
    of_run: OverSteps,
) -> Figure {
    let line = |(colour, method): (usize, &&str)| {
        let runs = study.runs(model, method);
        let smooth = runs.iter().map(|run| smoothed(&of_run(run)));
        let (points, mut spread) = mean_curve(&smooth.collect::<Vec<_>>());
        // What is never negative has no interval below 0.
        let is_positive = runs.iter().all(|run| of_run(run).iter().all(|point| point.1 >= 0.0));
        let least = if is_positive { 0.0 } else { f64::NEG_INFINITY };
        let most = if label.starts_with("Fraction") { 1.0 } else { f64::INFINITY };
        for (_, low, high) in &mut spread {
            (*low, *high) = (low.max(least), high.min(most));
        }
        Series::new(method, colour, Mark::Line, points).with_spread(spread)
    };
    let drawn = methods.iter().enumerate();
    let drawn = drawn.filter(|(_, method)| !study.runs(model, method).is_empty());
    let series: Vec<Series> = drawn.map(line).collect();
    let y = Axis::around(label, series.iter().flat_map(Series::heights), true, 0.04);
    let caption = "Mean over the seeds in its 0.95 interval, each a moving average.".to_owned();
    steps_figure([stem, title], 0.0, y, series, caption)
}

/// Differences `other - first` of a number, of equal seeds.
pub(super) fn paired(
    first: &[SeedRun],
    other: &[SeedRun],
    number: impl Fn(&SeedRun) -> f64,
) -> Vec<f64> {
    let difference = |two: &SeedRun| {
        let one = first.iter().find(|one| one.seed == two.seed)?;
        Some(number(two) - number(one))
    };
    other.iter().filter_map(difference).collect()
}
