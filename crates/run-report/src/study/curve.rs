//! Charts over the updates, and differences of equal seeds.

use figures::Figure;
use figures::chart::{Axis, Chart, Mark, Series};
use figures::moving_average::smoothed;

use super::cell::{SeedRun, Study};
use crate::report::{description, mean_curve};

/// A quantity over the steps of a run.
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
        if runs.iter().all(|run| of_run(run).iter().all(|point| point.1 >= 0.0)) {
            for (_, low, _) in &mut spread {
                *low = low.max(0.0);
            }
        }
        if label.starts_with("Fraction") {
            for (_, _, high) in &mut spread {
                *high = high.min(1.0);
            }
        }
        Series::new(method, colour, Mark::Line, points).with_spread(spread)
    };
    let series: Vec<Series> = methods
        .iter()
        .enumerate()
        .filter(|(_, method)| !study.runs(model, method).is_empty())
        .map(line)
        .collect();
    let description = description(&series);
    let x = Axis::steps(series.iter().flat_map(|one| one.points.iter().map(|point| point.0)), 0.0);
    let y = Axis::around(label, series.iter().flat_map(Series::heights), true, 0.04);
    Figure {
        chart: Chart::new([stem, title, &description], x, y, series),
        caption: "Mean over the seeds in its 0.95 interval, each a moving average.".to_owned(),
    }
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
