//! The covariance of a step is the entropy it costs, exactly and as sampled.

use super::on_policy_trace::{Trace, courses, traces};
use crate::reproduce::charts::{chart, heights};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use entropy_core::PairedMoments;
use figures::moving_average::moving_average;
use figures::{Axis, Chart, Mark, Series};

const WINDOW: usize = 15;

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let traces = traces(setting, progress);
    let mut measures = vec![];
    for (course, traces) in std::iter::zip(courses(setting), &traces) {
        let mut add = |what: &str, of: fn(&Trace) -> f64, target| {
            let quantity = format!("{}: {what}", course.name);
            measures.push(Measure::new(quantity, traces.iter().map(of), target));
        };
        let (tracking, always) = (Target::AtLeast(0.8), Target::AtLeast(0.99));
        add("error of Lemma 1 over the change", lemma_error, Target::AtMost(0.12));
        add("correlation of Lemma 1 with the change", lemma_correlation, always);
        add("Theorem 1 over the measured fall", theorem_ratio, Target::Between(0.88, 1.12));
        add("correlation of Eq. 10 with the fall", |t| tracks(t, &t.over_batch), tracking);
        add("correlation of Eq. 8 with the fall", |t| tracks(t, &t.within_groups), tracking);
        add("part of steps with Eq. 10 positive", |t| positive(&smooth(&t.over_batch)), always);
        add("part of steps with Eq. 8 positive", |t| positive(&smooth(&t.within_groups)), always);
        add("part of steps with falling entropy", |t| positive(&smoothed_fall(t)), Target::None);
    }
    ExperimentResult::new(measures).figure(over_steps(&traces[1][0]))
}

fn lemma_error(trace: &Trace) -> f64 {
    let errors = std::iter::zip(&trace.measured, &trace.of_step).map(|(m, p)| (m - p).abs());
    errors.sum::<f64>() / trace.measured.iter().map(|change| change.abs()).sum::<f64>()
}

fn lemma_correlation(trace: &Trace) -> f64 {
    PairedMoments::of(&trace.measured, &trace.of_step).correlation().unwrap_or(f64::NAN)
}

fn theorem_ratio(trace: &Trace) -> f64 {
    trace.of_expectation.iter().sum::<f64>() / trace.measured.iter().sum::<f64>()
}

/// Correlation of a smoothed covariance with the smoothed fall of entropy.
fn tracks(trace: &Trace, covariance: &[f64]) -> f64 {
    PairedMoments::of(&smoothed_fall(trace), &smooth(covariance)).correlation().unwrap_or(f64::NAN)
}

fn smoothed_fall(trace: &Trace) -> Vec<f64> {
    let fall: Vec<f64> = trace.measured.iter().map(|change| -change).collect();
    smooth(&fall)
}

fn smooth(values: &[f64]) -> Vec<f64> {
    moving_average(values, WINDOW)
}

/// Part of the values that are above 0.
fn positive(values: &[f64]) -> f64 {
    values.iter().filter(|value| **value > 0.0).count() as f64 / values.len() as f64
}

fn over_steps(trace: &Trace) -> Chart {
    let curve = |name: &str, colour: usize, mark: Mark, values: Vec<f64>| {
        let largest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let points =
            values.iter().enumerate().map(|(step, value)| ((step + 1) as f64, value / largest));
        Series::new(name, colour, mark, points.collect())
    };
    let series = vec![
        curve("fall of entropy", 0, Mark::Line, smoothed_fall(trace)),
        curve("covariance over the batch", 1, Mark::Line, smooth(&trace.over_batch)),
        curve("covariance within groups", 2, Mark::Dashed, smooth(&trace.within_groups)),
    ];
    let x = Axis::log("Step", [1.0, trace.measured.len() as f64]);
    chart("covariance", x, heights("Part of the largest value", &series, true), series)
}
