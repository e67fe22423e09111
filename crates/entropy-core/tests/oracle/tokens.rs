//! Covariances of tokens.

use crate::vectors::{check, list, name, numbers, oracle};
use entropy_core::token_covariances;

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
        let found = token_covariances(&of_valid("adv"), &of_valid("logp"));
        let expected = of_valid("cov");
        assert_eq!(found.len(), expected.len());
        for (found, expected) in std::iter::zip(&found, &expected) {
            let close = (found - expected).abs() <= 1e-13 * expected.abs() + 1e-15;
            assert!(close, "{}: {found} vs {expected}", name(case));
        }
        let mean = entropy_core::CovarianceSummary::of(&found).mean;
        check(case, mean, "batch_cov_mean", 1e-13, 1e-16);
    }
}
