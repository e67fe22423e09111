//! Charts of findings, and axes that hold what they draw.

use super::words::of_figure;
use figures::{Axis, Chart, Series};

/// A chart of `series` with the words that `findings.toml` has for its file stem.
pub fn chart(stem: &str, x: Axis, y: Axis, series: Vec<Series>) -> Chart {
    let words = of_figure(stem);
    Chart::new([stem, &words.title, &words.description], x, y, series)
}

/// A vertical axis that holds all of `series`, and zero if asked for.
pub fn heights(label: &str, series: &[Series], zero: bool) -> Axis {
    Axis::around(label, series.iter().flat_map(Series::heights), zero, 0.05)
}

/// A horizontal axis from zero that holds all points of `series`, with a little `air`.
pub fn places(label: &str, series: &[Series], air: f64) -> Axis {
    let places = series.iter().flat_map(|one| one.points.iter().map(|point| point.0));
    Axis::around(label, places, true, air)
}

/// The axis of rollout batches.
pub fn rollouts(values: impl IntoIterator<Item = f64>) -> Axis {
    Axis { label: "Rollout batches".to_owned(), ..Axis::steps(values, 0.01) }
}
