//! Metrics of the table of steps.

use training_run::metrics::StepMetrics;

/// Columns of the table: heading, metric, decimals; the first two matter most.
pub(super) const COLUMNS: [(&str, &str, usize); 8] = [
    ("reward", "critic/rewards/mean", 3),
    ("entropy", "actor/entropy", 4),
    ("change", "entropy/measured_change", 4),
    ("cov", "cov/mean", 4),
    ("selected", "cov/selected_fraction", 4),
    ("length", "response_length/mean", 1),
    ("cut", "rollout/truncated_fraction", 3),
    ("seconds", "timing_s/step", 2),
];

pub(super) fn heading() -> String {
    let names: String = COLUMNS.iter().map(|(name, _, _)| format!("{name:>9}")).collect();
    format!("{:>6}{names}", "step")
}

/// Row of a step; a dash where it has no value.
pub(super) fn row(step: u64, metrics: Option<&StepMetrics>) -> String {
    let cell = |&(_, name, digits): &(&str, &str, usize)| {
        let value = metrics.and_then(|metrics| metrics.get(name));
        value.map_or_else(|| format!("{:>9}", "-"), |value| format!("{value:>9.digits$}"))
    };
    format!("{step:>6}{}", COLUMNS.iter().map(cell).collect::<String>())
}
