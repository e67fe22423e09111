//! The covariance of log-probability and logit change: its sign, its match with the entropy, its tail.

use entropy_core::LineFit;
use training_run::metrics::StepMetrics;

use super::cell::{SeedRun, Study};
use super::curve::chart;
use super::finding::Finding;
use super::measure::{Measure, Target};
use super::method::GRPO;
use crate::report::{COVARIANCE, MEASURED_CHANGE, PREDICTED_CHANGE};

/// Share of the run in which the entropy collapses.
const COLLAPSE: f64 = 1.0 / 3.0;

/// Sign, match and tail of the covariance under GRPO.
pub(super) fn finding(study: &Study) -> Finding {
    let runs = study.grpo();
    let tail = |share: &'static str| {
        let name = format!("cov/top_{share}");
        runs.iter().map(move |run| run.mean(&name, 0.0, COLLAPSE)).collect::<Vec<_>>()
    };
    let half = tail("0.5");
    let ratio = std::iter::zip(tail("0.0002"), &half).map(|(top, half)| top / half);
    let measures = vec![
        Measure::new(
            "steps of the first third in which the mean covariance is above 0, fraction",
            runs.iter().map(positive),
            Target::AtLeast(0.9),
        ),
        Measure::new(
            "correlation of Lemma 1's prediction with the measured change of the entropy",
            runs.iter().map(|run| correlation(run, PREDICTED_CHANGE)),
            Target::AtLeast(0.9),
        ),
        Measure::new(
            "correlation of −covariance (Theorem 2) with the measured change",
            runs.iter().map(|run| correlation(run, "entropy/theorem2_state")),
            Target::AtLeast(0.5),
        ),
        Measure::new(
            "covariance of the top 0.0002 of tokens over that of the top half",
            ratio,
            Target::AtLeast(10.0),
        ),
        Measure::new(
            "covariance of prompts that are solved in half of their responses or more, less that of the others",
            runs.iter().map(|run| {
                let mean = |name| run.mean(name, 0.0, COLLAPSE);
                mean("cov/easy_prompts") - mean("cov/hard_prompts")
            }),
            Target::AtLeast(0.0),
        ),
        Measure::new("mean covariance of the top 0.0002", tail("0.0002"), Target::None),
        Measure::new("mean covariance of the top half", half.iter().copied(), Target::None),
    ];
    let of_run = |run: &SeedRun| run.series(COVARIANCE);
    let words = ("lm-covariance", "Covariance under GRPO", "Mean covariance");
    Finding::new(
        "covariance",
        measures,
        vec![chart((study, study.main_model()), &[GRPO], words, of_run)],
    )
}

/// Fraction of the first third's steps with a positive mean covariance.
fn positive(run: &SeedRun) -> f64 {
    let mut points = run.series(COVARIANCE);
    points.retain(|point| point.0 <= COLLAPSE * run.steps());
    let above = points.iter().filter(|point| point.1 > 0.0).count();
    above as f64 / points.len() as f64
}

/// Correlation, over the first third, of a prediction of the entropy's change with the measured one.
fn correlation(run: &SeedRun, prediction: &str) -> f64 {
    let steps = run.metrics.iter().filter(|step| step.step() as f64 <= COLLAPSE * run.steps());
    let pair = |step: &StepMetrics| Some((step.get(prediction)?, step.get(MEASURED_CHANGE)?));
    let (predicted, measured): (Vec<f64>, Vec<f64>) = steps.filter_map(pair).unzip();
    LineFit::through(&predicted, &measured)
        .and_then(|fit| Some(fit.r_squared?.sqrt().copysign(fit.slope)))
        .unwrap_or(f64::NAN)
}
