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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_in_one_bucket() {
        let values: Vec<f64> = (0..=60).map(f64::from).chain([f64::NAN]).collect();
        let counted = histogram(values).unwrap();
        assert_eq!((counted.min, counted.max, counted.num), (0.0, 60.0, 61.0));
        assert_eq!((counted.sum, counted.sum_squares), (1830.0, 73810.0));
        // The first takes 0, 1, 2; each other takes two.
        let expected: Vec<f64> = std::iter::once(3.0).chain([2.0; 29]).collect();
        assert_eq!(counted.bucket, expected);
        assert_eq!(counted.bucket_limit.last(), Some(&60.0));
    }

    #[test]
    fn equal_values_share_a_bucket_and_none_have_no_histogram() {
        let counted = histogram([5.0, 5.0]).unwrap();
        assert_eq!((counted.bucket_limit, counted.bucket), (vec![5.0], vec![2.0]));
        assert_eq!(histogram([f64::NAN]), None);
    }
}
