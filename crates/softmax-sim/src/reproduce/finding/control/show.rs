//! Charts and tables that findings about control share: curves of entropy, ends over a knob, a table of methods.

use super::arena::Trial;
use crate::reproduce::Table;
use crate::reproduce::seeds::{curve, interval};
use crate::training::CurvePoint;
use figures::{Axis, Chart, Mark, Series};

/// A method by its name in legends and tables.
pub(super) type Named<'a> = (&'a str, &'a Trial);

/// Entropy over the rollouts, on a logarithmic axis, mean and 95 % interval over the seeds.
pub(super) fn entropy_chart(stem: &str, title: &str, trials: &[Named]) -> Chart {
    over_rollouts(stem, title, "Entropy (nats per token)", trials, |point| point.entropy)
}

/// Expected reward at temperature 1 over the rollouts.
pub(super) fn reward_chart(stem: &str, title: &str, trials: &[Named]) -> Chart {
    let chart =
        over_rollouts(stem, title, "Expected reward at T = 1", trials, |point| point.reward);
    let heights = chart.series.iter().flat_map(Series::heights).collect::<Vec<_>>();
    Chart { y: Axis::around(&chart.y.label, heights, false, 0.05), ..chart }
}

fn over_rollouts(
    stem: &str,
    title: &str,
    label: &str,
    trials: &[Named],
    value: fn(&CurvePoint) -> f64,
) -> Chart {
    let series: Vec<Series> = trials
        .iter()
        .enumerate()
        .map(|(colour, (name, trial))| {
            let points = &trial.seeds[0].curve.points;
            // About a hundred points a curve: more are not seen.
            let every = points.len().div_ceil(100);
            let thin = |points: &[CurvePoint], of: fn(&CurvePoint) -> f64| -> Vec<f64> {
                points.iter().step_by(every).map(of).collect()
            };
            let rollouts = thin(points, |point| point.rollouts as f64);
            let runs: Vec<Vec<f64>> =
                trial.seeds.iter().map(|run| thin(&run.curve.points, value)).collect();
            curve(name, colour, Mark::Line, &rollouts, &runs)
        })
        .collect();
    let rollouts = series.iter().flat_map(|one| one.points.iter().map(|point| point.0));
    let x = Axis::around("Rollout batches", rollouts, true, 0.0);
    let y = Axis::log_of(label, &series);
    let names: Vec<&str> = trials.iter().map(|(name, _)| *name).collect();
    let description = format!("{label} of {}.", names.join(", "));
    Chart { stem: stem.to_owned(), title: title.to_owned(), description, x, y, series }
}

/// A value after training for each value of a knob.
pub(super) struct Sweep<'a> {
    pub(super) name: &'a str,
    pub(super) knobs: &'a [f64],
    /// `[knobs][seeds]`.
    pub(super) values: Vec<Vec<f64>>,
}

/// A value after training over the knob it was trained with, one marked curve a sweep.
pub(super) fn knob_chart(
    stem: &str,
    title: &str,
    [x_label, y_label]: [&str; 2],
    sweeps: &[Sweep],
    logarithmic: bool,
) -> Chart {
    let series: Vec<Series> = sweeps
        .iter()
        .enumerate()
        .map(|(colour, Sweep { name, knobs, values })| {
            let intervals: Vec<_> = values.iter().map(|values| interval(values)).collect();
            let pairs = || std::iter::zip(*knobs, &intervals);
            let means = pairs().map(|(&knob, interval)| (knob, interval.mean)).collect();
            let spread = pairs().map(|(&knob, interval)| (knob, interval.low, interval.high));
            Series::new(name, colour, Mark::Marked, means).with_spread(spread.collect())
        })
        .collect();
    let knobs = series.iter().flat_map(|one| one.points.iter().map(|point| point.0));
    let x = Axis::log(x_label, knobs);
    let y = if logarithmic {
        Axis::log_of(y_label, &series)
    } else {
        Axis::around(y_label, series.iter().flat_map(Series::heights), false, 0.05)
    };
    let description = format!("{y_label} after training, over {x_label}.");
    Chart { stem: stem.to_owned(), title: title.to_owned(), description, x, y, series }
}

/// Entropy and rewards after training, means with 95 % intervals; `baseline` is the first of `trials`.
pub(super) fn table(heading: &str, trials: &[Named]) -> Table {
    let columns = [
        "Method",
        "Entropy (nat)",
        "over that of the first",
        "Reward at T = 1",
        "at T = 0.6",
        "greedy",
    ];
    let mut table = Table::new(heading, &columns);
    let baseline = trials[0].1;
    for (name, trial) in trials {
        let text = |values: &[f64]| interval(values).text();
        table.row([
            (*name).into(),
            text(&trial.end(|point| point.entropy)).into(),
            interval(&trial.entropy_over(baseline)).mean.into(),
            text(&trial.end(|point| point.reward)).into(),
            text(&trial.end(|point| point.cool_reward)).into(),
            text(&trial.end(|point| point.greedy_reward)).into(),
        ]);
    }
    table
}
