//! Metrics that the page reads, and their values over the steps.

use std::collections::BTreeSet;

use training_run::metrics::StepMetrics;

use super::ReportRun;
use crate::run_law::held_out;

pub(crate) const ENTROPY: &str = "actor/entropy";
pub(super) const REWARD: &str = "critic/rewards/mean";
pub(crate) const MEASURED_CHANGE: &str = "entropy/measured_change";
pub(crate) const PREDICTED_CHANGE: &str = "entropy/predicted_change_lemma1";
pub(crate) const COVARIANCE: &str = "cov/mean";
pub(super) const STEP_SECONDS: &str = "timing_s/step";

/// Finite values of a metric with their steps.
pub(super) fn series(run: &ReportRun, name: &str) -> Vec<(f64, f64)> {
    let point = |step: &StepMetrics| Some((step.step() as f64, step.get(name)?));
    run.steps.iter().filter_map(point).filter(|(_, value)| value.is_finite()).collect()
}

/// Finite values of a metric up to the step `last`, without the steps.
pub(super) fn values(run: &ReportRun, name: &str, last: f64) -> Vec<f64> {
    let points = series(run, name).into_iter().filter(|&(step, _)| step <= last);
    points.map(|(_, value)| value).collect()
}

/// Steps at which both metrics are finite, as `(x, y)`.
pub(super) fn pairs(run: &ReportRun, x: &str, y: &str) -> Vec<(f64, f64)> {
    let pair = |step: &StepMetrics| Some((step.get(x)?, step.get(y)?));
    let finite = |&(x, y): &(f64, f64)| x.is_finite() && y.is_finite();
    run.steps.iter().filter_map(pair).filter(finite).collect()
}

/// Names of held-out accuracies, `val-core/SOURCE/acc/mean@N`, of all runs.
pub(super) fn accuracies(runs: &[ReportRun]) -> Vec<String> {
    let steps = runs.iter().flat_map(|run| &run.steps);
    let names = steps.flat_map(|step| step.iter().map(|(name, _)| name));
    let wanted: BTreeSet<&str> = names.filter(|name| held_out(name).is_some()).collect();
    wanted.into_iter().map(str::to_owned).collect()
}

/// `SOURCE (mean of N)` for `val-core/SOURCE/acc/mean@N`.
pub(super) fn accuracy_source(name: &str) -> String {
    match held_out(name) {
        Some((source, "1")) => source.to_owned(),
        Some((source, samples)) => format!("{source} (mean of {samples} answers)"),
        None => name.to_owned(),
    }
}

/// The largest step of a run; 0 if it has none.
pub(super) fn last_step(run: &ReportRun) -> f64 {
    run.steps.iter().map(|step| step.step() as f64).fold(0.0, f64::max)
}

/// The last step that every run with steps has.
pub(super) fn common_step(runs: &[ReportRun]) -> f64 {
    runs.iter().map(last_step).filter(|&last| last > 0.0).fold(f64::INFINITY, f64::min)
}
