//! On held-out prompts the estimators of outcome rewards share one law.

use super::law_runs::{
    ALGORITHMS, explained, explained_by_line, held_out, law, law_chart, of_all_algorithms,
    pooled_law,
};
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Target};
use crate::training::Curve;
use entropy_core::PerformanceLaw;

/// The finding.
pub(super) const FINDING: Finding = Finding {
    name: "law-held-out",
    title: "On held-out prompts all algorithms share one law",
    claim: "The coefficients of the law belong to model and data: different algorithms trace the same curve of \
            validation reward against entropy. Section 2.4, Figure 6.",
    method: "A log-linear policy of 17 shared weights over four tokens of eight actions (L2), trained by six \
             algorithms on 2048 prompts (256 × 8 samples a rollout batch, groups of equal rewards dropped, 8 \
             mini-batches, clip 0.2, learning rate 1.5 times the algorithm's factor, 300 rollout batches). Reward is \
             exact on 4096 prompts not trained on, entropy on those trained on.",
    target: "One law explains at least 0.985 of the variance, and its root mean squared error on the points of each single \
             algorithm is at most 0.005: for all six algorithms, and for the five without PRIME.",
    theory: &["performance-law"],
    sources: &[
        include_str!("law_held_out.rs"),
        include_str!("law_runs.rs"),
        include_str!("../engine.rs"),
    ],
    run,
};

/// Estimators of outcome rewards alone, the first of the [`ALGORITHMS`]: all but PRIME.
const OF_OUTCOMES: usize = 5;

/// Variance that one law of several curves explains, and its largest root mean squared error on one of them.
fn shared_law(curves: &[Curve]) -> (f64, f64) {
    let law = pooled_law(curves);
    let errors = curves.iter().map(|curve| law.rmse_on(&curve.entropies(), &curve.rewards()));
    (explained(&law), errors.map(|error| error.unwrap_or(f64::NAN)).fold(0.0, f64::max))
}

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = of_all_algorithms(setting, progress, held_out);
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
    ExperimentResult::new(measures)
        .figure(
            law_chart("law-held-out", "Held-out reward against entropy", &runs[0], &pooled[0]),
            "First seed, one marker an evaluation; dashed, one law for all. Training runs from right to left.",
        )
        .note(
            "PRIME, whose reward model gives every token a reward, leaves the curve that the five estimators of outcome \
             rewards share.",
        )
        .note(
            "Training starts at 0.74 nats, where a straight line does nearly as well as the exponential: this \
             environment shows that the algorithms share a curve, not which form it has.",
        )
}
