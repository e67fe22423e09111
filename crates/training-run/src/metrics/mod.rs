//! Metrics of a step: a table of names, units and definitions, and the file `metrics.jsonl`.
//!
//! Names follow verl's where the meaning is the same, so that dashboards carry over. The tests
//! print `docs/metrics.md` from [`METRICS`].

mod file;
mod step;
mod table;
mod validation;

pub use file::{MetricsWriter, read_metrics};
pub use step::{MetricName, StepMetrics};
pub use table::{METRICS, Metric};
pub use validation::Validation;

/// The name of a metric, checked against [`METRICS`] when the crate is compiled.
///
/// ```
/// use training_run::{metric, metrics::StepMetrics};
/// let mut step = StepMetrics::new(1);
/// step.insert(metric!("actor/entropy"), 0.7);
/// ```
///
/// ```compile_fail
/// training_run::metric!("actor/entropie");
/// ```
#[macro_export]
macro_rules! metric {
    ($name:literal) => {
        const { $crate::metrics::MetricName::known($name) }
    };
}
