//! Easy prompts have the larger covariance.

use super::on_policy_trace::{RIGHT, Trace, courses, mean, traces};
use crate::reproduce::charts::{chart, heights};
use crate::reproduce::seeds::curve;
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use figures::moving_average::moving_average;
use figures::{Axis, Chart, Mark, Series};

const KINDS: [&str; 3] = ["hard (1 of 8)", "medium (4 of 8)", "easy (7 of 8)"];

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let traces = traces(setting, progress);
    let mut measures = vec![];
    for (course, traces) in std::iter::zip(courses(setting), &traces) {
        let early: Vec<[f64; 3]> = traces.iter().map(early).collect();
        let quantity = |words: &str| format!("{}: {words}", course.name);
        let mut holds = |words: &str, of: fn(&[f64; 3]) -> bool| {
            measures.push(Measure::holds(quantity(words), early.iter().map(of)));
        };
        holds("easy above medium above hard", |[hard, medium, easy]| {
            easy > medium && medium > hard
        });
        holds("easy at least three times hard", |[hard, _, easy]| *easy >= 3.0 * hard);
        for (index, words) in KINDS.into_iter().enumerate() {
            let values = early.iter().map(|kinds| kinds[index]);
            let measure = Measure::new(quantity(words), values, Target::None);
            measures.push(measure.in_unit("nat·reward"));
        }
    }
    ExperimentResult::new(measures).figure(over_steps(&traces[1]))
}

/// Mean covariance over the first third of a run: hard, medium, easy.
fn early(trace: &Trace) -> [f64; 3] {
    let third = trace.measured.len() / 3;
    let early_mean =
        |column: &Vec<f64>| mean(column[..third].iter().copied().filter(|value| value.is_finite()));
    trace.by_difficulty.each_ref().map(early_mean)
}

fn over_steps(traces: &[Trace]) -> Chart {
    let steps = traces[0].measured.len() / 3;
    let x: Vec<f64> = (1..=steps).map(|step| step as f64).collect();
    let of_kind = |(index, right): (usize, usize)| -> Series {
        let smooth = |trace: &Trace| {
            moving_average(&filled(&trace.by_difficulty[index][..steps]), steps / 20)
        };
        let rows: Vec<Vec<f64>> = traces.iter().map(smooth).collect();
        curve(&format!("{right} of 8 right"), index, Mark::Line, &x, &rows)
    };
    let series: Vec<Series> = RIGHT.into_iter().enumerate().map(of_kind).collect();
    let y = heights("Covariance within the group (nat·reward)", &series, true);
    chart("difficulty", Axis::steps(x, 0.01), y, series)
}

/// The values, with those that are missing taken from the step before.
fn filled(values: &[f64]) -> Vec<f64> {
    let mut last = 0.0;
    let mut fill = |value: &f64| {
        if value.is_finite() {
            last = *value;
        }
        last
    };
    values.iter().map(&mut fill).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_without_such_a_group_repeats_the_one_before() {
        assert_eq!(filled(&[f64::NAN, 2.0, f64::NAN, 3.0]), [0.0, 2.0, 2.0, 3.0]);
    }
}
