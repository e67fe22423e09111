//! Histograms with buckets of equal width.

use super::event::HistogramProto;

/// Number of buckets; TensorBoard shows 30.
const BUCKETS: usize = 30;

/// Counts `values` in buckets, except those that are not finite. `None` where no value is left.
pub fn histogram(values: impl IntoIterator<Item = f64>) -> Option<HistogramProto> {
    let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
    let min = values.iter().copied().reduce(f64::min)?;
    let max = values.iter().copied().reduce(f64::max)?;
    let width = (max - min) / BUCKETS as f64;
    let buckets = if width > 0.0 { BUCKETS } else { 1 };
    let limit =
        |index: usize| if index + 1 == buckets { max } else { min + width * (index + 1) as f64 };
    let bucket_limit: Vec<f64> = (0..buckets).map(limit).collect();
    let mut bucket = vec![0.0; buckets];
    for value in &values {
        // The first bucket whose upper end is not below the value.
        let place = bucket_limit.partition_point(|limit| limit < value);
        bucket[place.min(buckets - 1)] += 1.0;
    }
    Some(HistogramProto {
        min,
        max,
        num: values.len() as f64,
        sum: values.iter().sum(),
        sum_squares: values.iter().map(|value| value * value).sum(),
        bucket_limit,
        bucket,
    })
}
