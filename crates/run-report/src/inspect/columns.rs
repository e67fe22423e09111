//! Metrics of the table of steps.

/// Heading, metric, decimals.
pub(super) type Column<'a> = (&'a str, &'a str, usize);

/// Columns of the table; the first two matter most.
pub(super) const COLUMNS: [Column<'static>; 8] = [
    ("reward", "critic/rewards/mean", 3),
    ("entropy", "actor/entropy", 4),
    ("change", "entropy/measured_change", 4),
    ("cov", "cov/mean", 4),
    ("selected", "cov/selected_fraction", 4),
    ("length", "response_length/mean", 1),
    ("cut", "rollout/truncated_fraction", 3),
    ("seconds", "timing_s/step", 2),
];
