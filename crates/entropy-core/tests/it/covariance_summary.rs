//! Distribution of covariance over the tokens of a batch.

use entropy_core::CovarianceSummary;

fn hundred() -> Vec<f64> {
    (1..=100).rev().map(f64::from).collect()
}

#[test]
fn top_means_are_means_of_the_largest_values() {
    let summary = CovarianceSummary::of(&hundred());
    let top_means: Vec<(usize, f64)> =
        summary.top_means.iter().map(|top| (top.tokens, top.mean)).collect();
    assert_eq!(top_means, [(1, 100.0), (1, 100.0), (2, 99.5), (20, 90.5), (50, 75.5), (100, 50.5)]);
    assert_eq!(summary.top_mean(0.2), Some(90.5));
    assert_eq!(summary.top_mean(0.3), None);
}

#[test]
fn quantiles_interpolate_between_neighbours() {
    let values: Vec<f64> =
        CovarianceSummary::of(&hundred()).quantiles.iter().map(|q| q.value).collect();
    let expected = [1.0, 1.99, 5.95, 25.75, 50.5, 75.25, 95.05, 99.01, 100.0];
    for (value, expected) in std::iter::zip(values, expected) {
        assert!((value - expected).abs() < 1e-12, "{value} vs {expected}");
    }
}

#[test]
fn no_tokens_give_zeros() {
    let summary = CovarianceSummary::of(&[]);
    assert_eq!(summary.tokens, 0);
    assert!(summary.top_means.iter().all(|top| top.tokens == 0 && top.mean == 0.0));
    assert!(summary.quantiles.iter().all(|quantile| quantile.value == 0.0));
}

#[test]
fn a_share_that_is_a_whole_number_of_tokens_is_not_rounded_up() {
    let values = vec![1.0; 15_000];
    let top_means = CovarianceSummary::of(&values).top_means;
    let tokens: Vec<usize> = top_means.iter().map(|top| top.tokens).collect();
    assert_eq!(tokens, [3, 30, 300, 3000, 7500, 15_000]);
}
