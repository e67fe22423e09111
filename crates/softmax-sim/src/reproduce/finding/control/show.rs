//! Charts and tables that findings about control share: curves of entropy, ends over a knob, a table of methods.

use super::arena::{Run, Trial};
use crate::reproduce::charts::{chart, heights, places};
use crate::reproduce::seeds::{Interval, curve, interval, means};
use crate::reproduce::{Cell, Table};
use crate::training::CurvePoint;
use figures::{Axis, Chart, Mark, Series};

/// Entropy over the rollouts, on a logarithmic axis, mean and 0.95 interval over the seeds.
pub(super) fn entropy_chart<'a>(stem: &str, trials: impl IntoIterator<Item = &'a Trial>) -> Chart {
    let series = over_rollouts(trials, |point| point.entropy);
    let y = Axis::log_of("Entropy (nats per token)", &series);
    chart(stem, places("Rollout batches", &series, 0.0), y, series)
}

/// Expected reward at temperature 1 over the rollouts.
pub(super) fn reward_chart(stem: &str, trials: &[Trial]) -> Chart {
    let series = over_rollouts(trials, |point| point.reward);
    let y = heights("Expected reward at T = 1", &series, false);
    chart(stem, places("Rollout batches", &series, 0.0), y, series)
}

fn over_rollouts<'a>(
    trials: impl IntoIterator<Item = &'a Trial>,
    value: fn(&CurvePoint) -> f64,
) -> Vec<Series> {
    let of_trial = |(colour, trial): (usize, &Trial)| {
        let thin = |run: &Run, of: fn(&CurvePoint) -> f64| -> Vec<f64> {
            let points = &run.curve.points;
            points.iter().step_by(thinned(points.len())).map(of).collect()
        };
        let rollouts = thin(&trial.seeds[0], |point| point.rollouts as f64);
        let runs: Vec<Vec<f64>> = trial.seeds.iter().map(|run| thin(run, value)).collect();
        curve(&trial.name, colour, Mark::Line, &rollouts, &runs)
    };
    trials.into_iter().enumerate().map(of_trial).collect()
}

/// Every how many of `points` are drawn: about a hundred a curve, as more are not seen.
pub(super) fn thinned(points: usize) -> usize {
    points.div_ceil(100).max(1)
}

/// A curve's name, the values of a knob, the trials with each, and the value drawn of them.
pub(super) type Sweep<'a> = (&'a str, &'a [f64], &'a [Trial], fn(&CurvePoint) -> f64);

/// A value after training over the knob it was trained with, one marked curve a sweep.
pub(super) fn knob_chart(
    stem: &str,
    [x_label, y_label]: [&str; 2],
    sweeps: &[Sweep],
    logarithmic: bool,
) -> Chart {
    let of_sweep = |(colour, &(name, knobs, trials, value)): (usize, &Sweep)| {
        let intervals = trials.iter().map(|trial| interval(&trial.end(value)));
        means(name, colour, Mark::Marked, knobs.iter().copied().zip(intervals))
    };
    let series: Vec<Series> = sweeps.iter().enumerate().map(of_sweep).collect();
    let knobs = series.iter().flat_map(|one| one.points.iter().map(|point| point.0));
    let x = Axis::log(x_label, knobs);
    let y =
        if logarithmic { Axis::log_of(y_label, &series) } else { heights(y_label, &series, false) };
    chart(stem, x, y, series)
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

/// Entropy and rewards after training, means with 0.95 intervals; the baseline is the first of `trials`.
pub(super) fn table(heading: &str, trials: &[Trial]) -> Table {
    let [entropy, rewards @ ..] = ENDS;
    let columns = [&["Method", entropy, "over that of the first"][..], &rewards].concat();
    let mut table = Table::new(heading, &columns);
    for trial in trials {
        let [entropy, rewards @ ..] = ends(trial, |interval| interval.text().into());
        let over = interval(&trial.entropy_over(&trials[0])).mean;
        let name = trial.name.as_str().into();
        table.row([name, entropy, over.into()].into_iter().chain(rewards));
    }
    table
}

/// The tables of small and of large steps.
pub(super) fn tables(small: &[Trial], large: &[Trial]) -> [Table; 2] {
    [("Small steps (C2)", small), ("Large steps (C1)", large)].map(|(steps, trials)| {
        table(&format!("{steps}, after training: mean over seeds, 0.95 interval."), trials)
    })
}
