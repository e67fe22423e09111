//! Covariances of tokens.

use crate::oracle::vectors::{check, list, name, number, numbers, oracle, policy};
use entropy_core::{CovarianceDecomposition, CovarianceEstimate, token_covariances};

#[test]
fn token_covariances_agree_over_the_valid_tokens() {
    let oracle = oracle();
    let cases = list(&oracle, "token_cases");
    assert!(!cases.is_empty());
    for case in cases {
        let valid: Vec<bool> = list(case, "mask").iter().map(|m| m.as_u64() == Some(1)).collect();
        let of_valid = |field: &str| -> Vec<f64> {
            let column = numbers(case, field);
            std::iter::zip(column, &valid).filter(|(_, valid)| **valid).map(|(v, _)| v).collect()
        };
        let covariances = token_covariances(&of_valid("adv"), &of_valid("logp"));
        let expected = of_valid("cov");
        assert_eq!(covariances.len(), expected.len());
        for (covariance, expected) in std::iter::zip(&covariances, &expected) {
            let close = (covariance - expected).abs() <= 1e-13 * expected.abs() + 1e-15;
            assert!(close, "{}: {covariance} vs {expected}", name(case));
        }
        let mean = entropy_core::CovarianceSummary::of(&covariances).mean;
        check(case, mean, "batch_cov_mean", 1e-13, 1e-16);
    }
}

#[test]
fn the_estimator_has_the_bias_and_the_variance_that_are_recorded() {
    let oracle = oracle();
    let cases = list(&oracle, "estimator_cases");
    assert!(!cases.is_empty());
    for case in cases {
        let tokens = usize::try_from(case["N"].as_u64().expect("a count")).expect("a small count");
        let estimate =
            CovarianceEstimate::of(&policy(&numbers(case, "logits")), &numbers(case, "A"), tokens)
                .expect("two tokens or more");
        check(case, estimate.covariance, "true_cov", 1e-14, 0.0);
        check(case, estimate.expected_batch_mean, "expect_batch_mean_centred", 1e-14, 0.0);
        check(case, estimate.variance_of_unbiased, "var_unbiased", 1e-14, 0.0);
    }
}

#[test]
fn the_covariance_of_a_batch_has_a_part_between_states() {
    let oracle = oracle();
    let cases = list(&oracle, "two_state_cases");
    assert!(!cases.is_empty());
    for case in cases {
        let column = |field: &str| -> Vec<f64> {
            list(case, field).iter().map(|v| v.as_f64().expect("a number")).collect()
        };
        let state =
            |field: &str| policy(&column(field).iter().map(|p: &f64| p.ln()).collect::<Vec<f64>>());
        let (first, second) = (state("pi_s1"), state("pi_s2"));
        let (advantage_1, advantage_2) = (column("A_s1"), column("A_s2"));
        let weight = number(&case["weight_s1"]);
        let decomposition = CovarianceDecomposition::of([
            (weight, &first, advantage_1.as_slice()),
            (1.0 - weight, &second, advantage_2.as_slice()),
        ])
        .expect("the weights are shares");
        check(case, decomposition.within, "within", 1e-14, 1e-16);
        check(case, decomposition.between, "between", 1e-14, 1e-16);
        check(case, decomposition.total(), "batch_level_expectation", 1e-14, 1e-16);
        let of_two = decomposition.expected_batch_mean(2);
        assert!((of_two - 0.5 * decomposition.total()).abs() < 1e-16);
        let fixed = decomposition.expected_mean_of_fixed_states(2, 8);
        assert!((fixed - (0.9375 * decomposition.within + decomposition.between)).abs() < 1e-16);
    }
}

/// With an advantage centred per state but not per batch, the sign of the batch is the wrong one.
#[test]
fn the_batch_can_show_the_opposite_sign() {
    let first = policy(&[0.0, 0.0]);
    let second = policy(&[15f64.ln(), 0.0]);
    let decomposition = CovarianceDecomposition::of([
        (1.0, &first, [-1.0, -1.0].as_slice()),
        (1.0, &second, [0.75, 1.75].as_slice()),
    ])
    .expect("positive weights");
    assert!((decomposition.within + 0.0793).abs() < 1e-4, "{decomposition:?}");
    assert!((decomposition.total() - 0.1288).abs() < 1e-4, "{decomposition:?}");
}

#[test]
fn weights_and_counts_that_make_no_mean_are_errors() {
    let coin = policy(&[0.0, 0.0]);
    let message = |weight: f64| {
        CovarianceDecomposition::of([(weight, &coin, [0.0, 1.0].as_slice())])
            .unwrap_err()
            .to_string()
    };
    assert_eq!(message(-1.0), "`weight` is -1; expected a finite number, 0 or above");
    assert_eq!(message(0.0), "`sum of the weights` is 0; expected a positive number");
    let error = CovarianceEstimate::of(&coin, &[0.0, 1.0], 1).unwrap_err();
    assert_eq!(error.to_string(), "`tokens` is 1; expected at least 2");
}
