//! On held-out prompts the estimators of outcome rewards share one law.

use super::law_runs::{
    ALGORITHMS, explained, explained_by_line, held_out, law, law_chart, pooled_law,
};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use crate::training::Curve;
use entropy_core::PerformanceLaw;

/// Estimators of outcome rewards alone, the first of the [`ALGORITHMS`]: all but PRIME.
const OF_OUTCOMES: usize = 5;

/// Variance that one law of several curves explains, and its largest root mean squared error on one of them.
fn shared_law(curves: &[Curve]) -> (f64, f64) {
    let law = pooled_law(curves);
    let errors = curves.iter().map(|curve| law.rmse_on(&curve.entropies(), &curve.rewards()));
    (explained(&law), errors.map(|error| error.unwrap_or(f64::NAN)).fold(0.0, f64::max))
}

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = setting.over_runs(progress, &ALGORITHMS, held_out);
    let pooled: Vec<PerformanceLaw> = runs.iter().map(|curves| pooled_law(curves)).collect();
    let spread = |curves: &Vec<Curve>| {
        let ceilings = || curves.iter().map(|curve| law(curve).ceiling());
        ceilings().fold(f64::NEG_INFINITY, f64::max) - ceilings().fold(f64::INFINITY, f64::min)
    };
    let mut measures = vec![];
    for (name, count) in [("all but PRIME", OF_OUTCOMES), ("all six", ALGORITHMS.len())] {
        let (explained, errors): (Vec<f64>, Vec<f64>) =
            runs.iter().map(|curves| shared_law(&curves[..count])).unzip();
        let mut add = |what: &str, values, target| {
            measures.push(Measure::new(format!("{name}: {what}"), values, target));
        };
        add("R² of one law", explained, Target::AtLeast(0.985));
        add("its largest error (RMSE)", errors, Target::AtMost(0.005));
    }
    let spreads = runs.iter().map(spread);
    measures.push(Measure::new("spread of the six ceilings", spreads, Target::None));
    let mut add = |quantity: &str, value: fn(&PerformanceLaw) -> f64| {
        measures.push(Measure::new(quantity, pooled.iter().map(value), Target::None));
    };
    add("R² of one straight line", explained_by_line);
    add("a", |law| law.a);
    add("b", |law| law.b);
    ExperimentResult::new(measures).figure(law_chart("law-held-out", &runs[0], &pooled[0]))
}
