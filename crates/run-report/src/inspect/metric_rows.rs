//! Metrics of a run in lines of text: a row for each step, and curves.

use figures::chart::ends;
use training_run::metrics::StepMetrics;

use crate::run_law::held_out;
use crate::run_view::RunView;

/// Columns of the table: heading, metric, decimals; the first two matter most.
const COLUMNS: [(&str, &str, usize); 8] = [
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

/// Heights of a curve, lowest first.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Room of a name, and of the two ends of a curve.
const NAME: usize = 9;
const ENDS: usize = 24;

/// Draws the metrics that have two values or more over the steps, one line each: name, curve, lowest and highest value.
pub(super) fn curve_rows(view: &RunView, width: usize) -> Vec<String> {
    let room = width.saturating_sub(NAME + ENDS).max(8);
    let names = view.metrics().iter().flat_map(|step| step.iter().map(|(name, _)| name));
    let accuracy = names.filter(|name| held_out(name).is_some()).min();
    let held_out = accuracy.map(|metric| ("held out", metric, 3));
    let (first, others) = COLUMNS.split_at(2);
    let columns = first.iter().copied().chain(held_out).chain(others.iter().copied());
    let row = |(name, metric, digits): (&str, &str, usize)| {
        let values: Vec<f64> = view.metrics().iter().filter_map(|step| step.get(metric)).collect();
        let (low, high) = ends(values.iter().copied()).filter(|_| values.len() > 1)?;
        let curve = sparkline(&values, room, low, high);
        Some(format!("{name:>NAME$} {curve:<room$} {low:.digits$} to {high:.digits$}"))
    };
    columns.filter_map(row).collect()
}

/// Means of equally many values, one character each, from the lowest to the highest of all values.
fn sparkline(values: &[f64], width: usize, low: f64, high: f64) -> String {
    let count = width.min(values.len());
    let mean = |index: usize| {
        let part = &values[index * values.len() / count..(index + 1) * values.len() / count];
        part.iter().sum::<f64>() / part.len() as f64
    };
    let height = |mean: f64| {
        let place = (mean - low) / (high - low).max(f64::MIN_POSITIVE) * 7.0;
        // Rounded, from 0 to 7.
        HEIGHTS[(1_u8..8).filter(|&step| place >= f64::from(step) - 0.5).count()]
    };
    (0..count).map(|index| height(mean(index))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_rises_from_the_lowest_to_the_highest() {
        assert_eq!(sparkline(&[0.0, 1.0, 7.0], 8, 0.0, 7.0), "▁▂█");
        assert_eq!(sparkline(&[0.0, 2.0, 6.0, 8.0], 2, 0.0, 8.0), "▂▇");
        assert_eq!(sparkline(&[3.0, 3.0], 8, 3.0, 3.0), "▁▁");
        assert_eq!(sparkline(&[], 8, f64::INFINITY, f64::NEG_INFINITY), "");
    }
}
