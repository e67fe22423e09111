//! The law of reward and entropy.

use crate::oracle::vectors::{check, list, name, numbers, oracle};
use entropy_core::{FitError, Forecast, PerformanceLaw};

#[test]
fn fits_agree_with_high_precision_least_squares() {
    let oracle = oracle();
    for case in list(&oracle, "fit_cases").iter().filter(|case| !case["fit"].is_null()) {
        let (entropy, reward) = (numbers(case, "H"), numbers(case, "R"));
        let law = PerformanceLaw::fit(&entropy, &reward).expect("the entropies differ");
        let expected = &case["fit"];
        check(expected, law.a, "a", 1e-12, 0.0);
        check(expected, law.b, "b", 1e-12, 0.0);
        check(expected, law.ceiling(), "ceiling_b_minus_a", 1e-12, 0.0);
        check(expected, law.rmse, "rmse", 1e-12, 1e-15);
        check(expected, law.r_squared.expect("the reward varies"), "r2", 1e-12, 0.0);
        check(expected, law.standard_error_a.expect("many points"), "se_a", 1e-12, 1e-15);
        check(expected, law.standard_error_b.expect("many points"), "se_b", 1e-12, 1e-15);

        let early = &case["early"];
        if let Some(count) = early["k"].as_u64() {
            let count = usize::try_from(count).expect("k is small");
            let forecast = Forecast::from_share(&entropy, &reward, 0.15, 0.95)
                .expect("the first entropies differ");
            assert_eq!(forecast.fitted, count);
            check(early, forecast.law.a, "a", 1e-12, 0.0);
            check(early, forecast.law.b, "b", 1e-12, 0.0);
            check(early, forecast.rmse_rest, "rmse_rest", 1e-11, 1e-14);
            check(early, forecast.final_error.abs(), "abs_err_final", 1e-10, 1e-14);
        }
    }
}

#[test]
fn a_constant_entropy_is_an_error_and_not_a_slope() {
    let oracle = oracle();
    let case = list(&oracle, "fit_cases").iter().find(|case| case["fit"].is_null());
    let case = case.expect("the oracle has a degenerate case");
    let error = PerformanceLaw::fit(&numbers(case, "H"), &numbers(case, "R")).unwrap_err();
    assert!(matches!(error, FitError::ConstantEntropy { points: 5, .. }), "{error}");
}

#[test]
fn the_line_wins_where_the_truth_is_linear() {
    let oracle = oracle();
    let law_of = |wanted: &str| {
        let cases = list(&oracle, "fit_cases");
        let case = cases.iter().find(|case| name(case) == wanted).expect("the case exists");
        PerformanceLaw::fit(&numbers(case, "H"), &numbers(case, "R")).expect("it fits")
    };
    let (linear, toy) = (law_of("linear_truth"), law_of("toy_L1_env0_grpo"));
    assert!(linear.linear_r_squared > linear.r_squared, "{linear:?}");
    assert!(toy.r_squared > toy.linear_r_squared, "{toy:?}");
}

#[test]
fn another_optimiser_finds_the_same_coefficients() {
    let oracle = oracle();
    for case in list(&oracle, "fit_cases").iter().filter(|case| !case["fit"].is_null()) {
        let law = PerformanceLaw::fit(&numbers(case, "H"), &numbers(case, "R")).expect("it fits");
        check(&case["scipy_curve_fit"], law.a, "a", 1e-7, 0.0);
        check(&case["scipy_curve_fit"], law.b, "b", 1e-7, 0.0);
    }
}
