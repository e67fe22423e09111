//! Charts and tables that findings about control share: curves of entropy, ends over a knob, a table of methods.

use super::arena::Trial;
use crate::reproduce::charts::{chart, heights, places};
use crate::reproduce::seeds::{Interval, curve, interval, means};
use crate::reproduce::{Cell, Table};
use crate::training::CurvePoint;
use figures::{Axis, Chart, Mark, Series};

/// A method by its name in legends and tables.
pub(super) type Named<'a> = (&'a str, &'a Trial);

/// Entropy over the rollouts, on a logarithmic axis, mean and 0.95 interval over the seeds.
pub(super) fn entropy_chart(stem: &str, title: &str, trials: &[Named]) -> Chart {
    let label = "Entropy (nats per token)";
    over_rollouts([stem, title, label], trials, Axis::log_of, |point| point.entropy)
}

/// Expected reward at temperature 1 over the rollouts.
pub(super) fn reward_chart(stem: &str, title: &str, trials: &[Named]) -> Chart {
    let axis = |label: &str, series: &[Series]| heights(label, series, false);
    over_rollouts([stem, title, "Expected reward at T = 1"], trials, axis, |point| point.reward)
}

fn over_rollouts(
    [stem, title, label]: [&str; 3],
    trials: &[Named],
    axis: fn(&str, &[Series]) -> Axis,
    value: fn(&CurvePoint) -> f64,
) -> Chart {
    let of_trial = |(colour, (name, trial)): (usize, &Named)| {
        let points = &trial.seeds[0].curve.points;
        let thin = |points: &[CurvePoint], of: fn(&CurvePoint) -> f64| -> Vec<f64> {
            points.iter().step_by(thinned(points.len())).map(of).collect()
        };
        let rollouts = thin(points, |point| point.rollouts as f64);
        let runs: Vec<Vec<f64>> =
            trial.seeds.iter().map(|run| thin(&run.curve.points, value)).collect();
        curve(name, colour, Mark::Line, &rollouts, &runs)
    };
    let series: Vec<Series> = trials.iter().enumerate().map(of_trial).collect();
    let names: Vec<&str> = trials.iter().map(|(name, _)| *name).collect();
    let description = format!("{label} of {}.", names.join(", "));
    let x = places("Rollout batches", &series, 0.0);
    chart([stem, title, &description], x, axis(label, &series), series)
}

/// Every how many of `points` are drawn: about a hundred a curve, as more are not seen.
pub(super) fn thinned(points: usize) -> usize {
    points.div_ceil(100).max(1)
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
    let of_sweep = |(colour, Sweep { name, knobs, values }): (usize, &Sweep)| {
        let intervals = values.iter().map(|values| interval(values));
        means(name, colour, Mark::Marked, knobs.iter().copied().zip(intervals))
    };
    let series: Vec<Series> = sweeps.iter().enumerate().map(of_sweep).collect();
    let knobs = series.iter().flat_map(|one| one.points.iter().map(|point| point.0));
    let x = Axis::log(x_label, knobs);
    let y =
        if logarithmic { Axis::log_of(y_label, &series) } else { heights(y_label, &series, false) };
    let description = format!("{y_label} after training, over {x_label}.");
    chart([stem, title, &description], x, y, series)
}

/// Headings of [`ends`].
pub(super) const ENDS: [&str; 4] = ["Entropy (nat)", "Reward at T = 1", "at T = 0.6", "greedy"];

/// Entropy and rewards of a trial after training, those of all seeds as `cell` shows them.
pub(super) fn ends(trial: &Trial, cell: fn(Interval) -> Cell) -> [Cell; 4] {
    let values: [fn(&CurvePoint) -> f64; 4] = [
        |point| point.entropy,
        |point| point.reward,
        |point| point.cool_reward,
        |point| point.greedy_reward,
    ];
    values.map(|value| cell(interval(&trial.end(value))))
}

/// Entropy and rewards after training, means with 0.95 intervals; `baseline` is the first of `trials`.
pub(super) fn table(heading: &str, trials: &[Named]) -> Table {
    let [entropy, rewards @ ..] = ENDS;
    let columns = [&["Method", entropy, "over that of the first"][..], &rewards].concat();
    let mut table = Table::new(heading, &columns);
    for (name, trial) in trials {
        let [entropy, rewards @ ..] = ends(trial, |interval| interval.text().into());
        let over = interval(&trial.entropy_over(trials[0].1)).mean;
        table.row([(*name).into(), entropy, over.into()].into_iter().chain(rewards));
    }
    table
}
