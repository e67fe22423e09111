//! Means, intervals and curves over seeds.

use figures::number_format::significant;
use figures::{Mark, Series};
use serde::{Deserialize, Deserializer, Serialize};

/// A mean with its 0.95 confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// Mean of the finite values; NaN of none.
    #[serde(deserialize_with = "number")]
    pub mean: f64,
    /// Lower end; NaN with fewer than two values.
    #[serde(deserialize_with = "number")]
    pub low: f64,
    /// Upper end; NaN with fewer than two values.
    #[serde(deserialize_with = "number")]
    pub high: f64,
}

/// A number of JSON, which has `null` for what is not finite: NaN.
pub(super) fn number<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

impl Interval {
    /// `0.993 [0.992, 0.995]`, or the mean alone where there is no interval.
    pub fn text(self) -> String {
        let mean = significant(self.mean, 3);
        if !(self.low.is_finite() && self.high.is_finite()) {
            return mean;
        }
        format!("{mean} [{}, {}]", significant(self.low, 3), significant(self.high, 3))
    }
}

/// Mean of the finite values with the interval `mean ± t_{n-1}(0.975) · s / √n` of Student.
pub fn interval(values: &[f64]) -> Interval {
    let finite: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    let mean = finite.iter().sum::<f64>() / finite.len() as f64;
    let (low, high) = entropy_core::Interval::of_mean(&finite, 0.95)
        .map_or((f64::NAN, f64::NAN), |interval| (interval.low, interval.high));
    Interval { mean, low, high }
}

/// A curve of the mean over seeds with the 0.95 interval as its spread.
///
/// `runs` holds one row a seed, each with one value for every `x`; a shorter row ends earlier.
pub fn curve(name: &str, colour: usize, mark: Mark, x: &[f64], runs: &[Vec<f64>]) -> Series {
    let interval_at = |index: usize| {
        let values: Vec<f64> = runs.iter().filter_map(|run| run.get(index).copied()).collect();
        interval(&values)
    };
    means(name, colour, mark, x.iter().enumerate().map(|(index, &x)| (x, interval_at(index))))
}

/// A series of means, each at its place, with their intervals as its spread.
pub fn means(
    name: &str,
    colour: usize,
    mark: Mark,
    intervals: impl IntoIterator<Item = (f64, Interval)>,
) -> Series {
    let (means, spread) = intervals
        .into_iter()
        .map(|(x, Interval { mean, low, high })| ((x, mean), (x, low, high)))
        .unzip();
    Series::new(name, colour, mark, means).with_spread(spread)
}

/// Mean of `value` over `items`.
pub fn mean<T>(items: &[T], value: impl Fn(&T) -> f64) -> f64 {
    interval(&items.iter().map(value).collect::<Vec<_>>()).mean
}

/// A curve of the mean over seeds with the smallest and the largest value as its spread. For few seeds that lie so far
/// apart that the interval of the mean would cover the chart.
///
/// `runs` holds one row a seed, each with one value for every `x`.
pub fn curve_with_range(name: &str, colour: usize, x: &[f64], runs: &[Vec<f64>]) -> Series {
    let range = |(index, &x): (usize, &f64)| {
        let values = || runs.iter().filter_map(|run| run.get(index).copied());
        (x, values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    };
    let spread = x.iter().enumerate().map(range).collect();
    curve(name, colour, Mark::Line, x, runs).with_spread(spread)
}
