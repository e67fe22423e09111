//! Entropy collapses in the first part of training, and reward saturates with it.

use super::law_runs::{ALGORITHMS, ENVIRONMENTS};
use crate::reproduce::charts::{chart, rollouts};
use crate::reproduce::seeds::curve;
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use crate::training::{Curve, CurvePoint};
use figures::{Axis, Chart, Mark};

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let grpo = &ALGORITHMS[0];
    let runs = setting.over_runs(progress, &ENVIRONMENTS, |seed, (_, run)| run(seed, grpo));
    let mut measures = vec![];
    for (environment, (name, _)) in ENVIRONMENTS.iter().enumerate() {
        for (part, words, least) in [(1.0 / 12.0, "1/12", 0.70), (1.0 / 3.0, "1/3", 0.90)] {
            let shares = runs.iter().map(|pair| pair[environment].shares_spent(part));
            let (entropy, gain): (Vec<f64>, Vec<f64>) = shares.unzip();
            for (what, values) in [("the fall of entropy", entropy), ("the gain of reward", gain)] {
                let quantity = format!("{name}: share of {what} after {words}");
                measures.push(Measure::new(quantity, values, Target::AtLeast(least)));
            }
        }
    }
    for (environment, (name, _)) in ENVIRONMENTS.iter().enumerate() {
        let mut add = |when: &str, point: fn(&Curve) -> &CurvePoint| {
            let values = runs.iter().map(|pair| point(&pair[environment]).entropy);
            let quantity = format!("{name}: entropy at the {when}");
            measures.push(Measure::new(quantity, values, Target::None).in_unit("nat"));
        };
        add("start", Curve::first);
        add("end", Curve::last);
    }
    let bandits: Vec<&Curve> = runs.iter().map(|pair| &pair[0]).collect();
    ExperimentResult::new(measures).figure(over_training(&bandits))
}

/// Entropy over its start, and reward.
fn over_training(curves: &[&Curve]) -> Chart {
    let x: Vec<f64> = curves[0].points.iter().map(|point| point.rollouts as f64).collect();
    let rows = |of: fn(&Curve, &CurvePoint) -> f64| -> Vec<Vec<f64>> {
        curves.iter().map(|run| run.points.iter().map(|point| of(run, point)).collect()).collect()
    };
    let entropy = rows(|run, point| point.entropy / run.first().entropy);
    let series = vec![
        curve("entropy over its start", 0, Mark::Line, &x, &entropy),
        curve("expected reward", 1, Mark::Line, &x, &rows(|_, point| point.reward)),
    ];
    chart("collapse", rollouts(x), Axis::from_to("Part of its start; reward", 0.0, 1.02), series)
}
