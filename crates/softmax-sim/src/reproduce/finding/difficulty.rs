//! Easy prompts have the larger covariance.

use super::on_policy_trace::{RIGHT, Trace, courses, mean, traces};
use crate::reproduce::seeds::curve;
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Target};
use figures::moving_average::moving_average;
use figures::{Axis, Chart, Mark, Series};

/// The finding.
pub(super) const FINDING: Finding = Finding {
    name: "difficulty",
    title: "The easier the prompt, the larger its covariance",
    claim: "Easy prompts have the highest covariance, because the model is confident where it is right. Entropy \
            is spent there. Section 3.3, Figure 8.",
    method: "The runs of the finding on covariance. Groups of eight with 1, 4 and 7 right answers are hard, medium and \
             easy; the covariance within each group of log-probability and probability times advantage (Equation 8) \
             is averaged over the groups of a kind at each step, and over the first third of training.",
    target: "For one token and for four: easy above medium above hard, and easy at least three times \
             hard.",
    theory: &["token-covariance"],
    sources: &[include_str!("difficulty.rs"), include_str!("on_policy_trace.rs")],
    run,
};

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let traces = traces(setting, progress);
    let mut measures = vec![];
    for (course, traces) in std::iter::zip(courses(setting), &traces) {
        let early: Vec<[f64; 3]> = traces.iter().map(early).collect();
        let ordered: Vec<bool> = early.iter().map(|[h, m, e]| e > m && m > h).collect();
        let steep: Vec<bool> = early.iter().map(|[hard, _, easy]| *easy >= 3.0 * hard).collect();
        let name = course.name;
        measures.push(Measure::holds(&format!("{name}: easy above medium above hard"), &ordered));
        measures.push(Measure::holds(&format!("{name}: easy at least three times hard"), &steep));
        for (index, words) in
            ["hard (1 of 8)", "medium (4 of 8)", "easy (7 of 8)"].into_iter().enumerate()
        {
            let values = early.iter().map(|kinds| kinds[index]).collect();
            measures.push(Measure::new(
                &format!("{name}: {words}"),
                "nat·reward",
                values,
                Target::None,
            ));
        }
    }
    ExperimentResult::new(measures)
        .figure(
            chart(&traces[1]),
            "Four tokens: covariance within groups, smoothed, mean over the seeds with its 95 % interval, first third \
             of training.",
        )
        .note(
            "A hard and an easy group of mirrored accuracy have the same spread of advantages, so the whole gap is \
             calibration: how much likelier the policy finds its right answers than its wrong ones.",
        )
}

/// Mean covariance over the first third of a run: hard, medium, easy.
fn early(trace: &Trace) -> [f64; 3] {
    let third = trace.measured.len() / 3;
    let early_mean =
        |column: &Vec<f64>| mean(column[..third].iter().copied().filter(|value| value.is_finite()));
    trace.by_difficulty.each_ref().map(early_mean)
}

fn chart(traces: &[Trace]) -> Chart {
    let steps = traces.first().map_or(0, |trace| trace.measured.len() / 3);
    let x: Vec<f64> = (1..=steps).map(|step| step as f64).collect();
    let names = RIGHT.map(|right| format!("{right} of 8 right"));
    let series: Vec<Series> = (0..3)
        .map(|index| {
            let smooth = |trace: &Trace| {
                moving_average(&filled(&trace.by_difficulty[index][..steps]), steps / 20)
            };
            let rows: Vec<Vec<f64>> = traces.iter().map(smooth).collect();
            curve(&names[index], index, Mark::Line, &x, &rows)
        })
        .collect();
    let heights = series.iter().flat_map(Series::heights);
    Chart {
        stem: "difficulty".to_owned(),
        title: "Covariance by difficulty".to_owned(),
        description: "Three curves, the easy prompts' on top, the hard ones' lowest.".to_owned(),
        y: Axis::around("Covariance within the group (nat·reward)", heights, true, 0.05),
        x: Axis::steps(x, 0.01),
        series,
    }
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
