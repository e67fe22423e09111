//! Histograms with buckets of equal width.

use run_report::tensorboard::histogram;

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
