//! On held-out prompts all five algorithms share one law.

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
    method: "A log-linear policy of 17 shared weights over four tokens of eight actions (L2), trained by five \
             algorithms on 2048 prompts (256 × 8 samples a rollout batch, groups of equal rewards dropped, 8 \
             mini-batches, clip 0.2, learning rate 1.5 times the algorithm's factor, 300 rollout batches). Reward is \
             exact on 4096 prompts not trained on, entropy on those trained on.",
    target: "In every seed: one law for all five algorithms explains at least 0.985 of the variance, and its root mean \
             squared error on the points of each single algorithm is at most 0.005.",
    theory: &["performance-law"],
    source: include_str!("law_held_out.rs"),
    run,
};

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = of_all_algorithms(setting, progress, held_out);
    let pooled: Vec<PerformanceLaw> = runs.iter().map(|curves| pooled_law(curves)).collect();
    let worst = |curves: &Vec<Curve>, law: &PerformanceLaw| {
        let errors = curves
            .iter()
            .map(|curve| law.rmse_on(&curve.entropies(), &curve.rewards()).unwrap_or(f64::NAN));
        errors.fold(0.0, f64::max)
    };
    let spread = |curves: &Vec<Curve>| {
        let ceilings = curves.iter().map(|curve| law(curve).ceiling());
        let (low, high) = ceilings
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        high - low
    };
    let errors = std::iter::zip(&runs, &pooled).map(|(curves, law)| worst(curves, law)).collect();
    let per_seed = |value: fn(&PerformanceLaw) -> f64| pooled.iter().map(value).collect();
    let outcome = ExperimentResult::new(vec![
        Measure::new(
            "R² of one law for all five",
            "1",
            per_seed(explained),
            Target::AtLeast(0.985),
        ),
        Measure::new(
            "its largest error for one algorithm (RMSE)",
            "1",
            errors,
            Target::AtMost(0.005),
        ),
        Measure::new(
            "spread of the five ceilings",
            "1",
            runs.iter().map(spread).collect(),
            Target::None,
        ),
        Measure::new("R² of one straight line", "1", per_seed(explained_by_line), Target::None),
        Measure::new("a", "1", per_seed(|law| law.a), Target::None),
        Measure::new("b", "1", per_seed(|law| law.b), Target::None),
    ]);
    let Some((first, law)) = runs.first().zip(pooled.first()) else { return outcome };
    let named: Vec<(&str, &Curve)> =
        std::iter::zip(ALGORITHMS.iter().map(|algorithm| algorithm.name), first).collect();
    outcome
        .figure(
            law_chart("law-held-out", "Held-out reward against entropy", &named, law),
            "First seed, one marker an evaluation; dashed, one law for all. Training runs from right to left.",
        )
        .note(
            "Training starts at 0.74 nats, where a straight line does nearly as well as the exponential: this \
             environment shows that the algorithms share a curve, not which form it has.",
        )
}
