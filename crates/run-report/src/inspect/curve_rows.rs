//! Curves of a run in lines of text.

use super::columns::COLUMNS;
use crate::run_law::is_mean_accuracy;
use crate::run_view::RunView;

/// Heights of a curve, lowest first.
const HEIGHTS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// Room of a name, and of the two ends of a curve.
const NAME: usize = 9;
const ENDS: usize = 24;

/// Draws the metrics that have two values or more over the steps, one line each: name, curve, lowest and highest value.
pub(super) fn curve_rows(view: &RunView, width: usize) -> Vec<String> {
    let room = width.saturating_sub(NAME + ENDS).max(8);
    let names = view.metrics().iter().flat_map(|step| step.iter().map(|(name, _)| name));
    let accuracy = names.filter(|name| is_mean_accuracy(name)).min();
    let held_out = accuracy.map(|metric| ("held out", metric, 3));
    let (first, others) = COLUMNS.split_at(2);
    let columns = first.iter().copied().chain(held_out).chain(others.iter().copied());
    let row = |(name, metric, digits): (&str, &str, usize)| {
        let values: Vec<f64> = view.metrics().iter().filter_map(|step| step.get(metric)).collect();
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let curve = sparkline(&values, room, low, high);
        (values.len() > 1)
            .then(|| format!("{name:>NAME$} {curve:<room$} {low:.digits$} to {high:.digits$}"))
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
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "rounded, from 0 to 7"
        )]
        let place = place.round() as usize;
        HEIGHTS[place.min(7)]
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
