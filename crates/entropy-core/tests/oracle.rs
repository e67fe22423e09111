//! The formulas against values computed with 45 to 1600 digits.
//!
//! `data/theory_vectors.json` holds decimal strings; its `meta` states the tolerances used here.

use entropy_core::{
    Categorical, FitError, PerformanceLaw, UpdateRule, logit_step, token_covariances,
};
use serde_json::Value;

/// Below this `f64` has no normal numbers left; oracle values there are expected to underflow.
const UNDERFLOW: f64 = 1e-300;

fn oracle() -> Value {
    serde_json::from_str(include_str!("data/theory_vectors.json")).expect("the oracle is JSON")
}

fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().unwrap_or_else(|| panic!("`{field}` is a list"))
}

fn number(value: &Value) -> f64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is a decimal string"));
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn numbers(value: &Value, field: &str) -> Vec<f64> {
    list(value, field).iter().map(number).collect()
}

fn name(case: &Value) -> &str {
    case["name"].as_str().expect("a case has a name")
}

/// Inputs of a case: logits, advantage, eta. The large case is stated by its formula.
fn inputs(case: &Value) -> (Vec<f64>, Vec<f64>, f64) {
    let eta = number(&case["eta"]);
    if case["logits"].is_array() {
        return (numbers(case, "logits"), numbers(case, "advantages"), eta);
    }
    let n = u32::try_from(case["n"].as_u64().expect("n is a count")).expect("n is small");
    let logits = (0..n).map(|a| f64::from((a * 7919) % 997) / 64.0 - 8.0).collect();
    let advantage = (0..n).map(|a| f64::from((a * 104_729) % 211) / 128.0 - 0.8125).collect();
    (logits, advantage, eta)
}

fn policy(logits: &[f64]) -> Categorical {
    Categorical::from_logits(logits).expect("the oracle's logits are valid")
}

/// Fails unless `found` is within `relative` of the oracle's `field`, or within `absolute`.
fn check(case: &Value, found: f64, field: &str, relative: f64, absolute: f64) {
    let expected = number(&case[field]);
    let allowed = (relative * expected.abs()).max(absolute).max(UNDERFLOW);
    assert!(
        (found - expected).abs() <= allowed,
        "`{field}`: {found:e}, oracle {expected:e}, relative error {:e}",
        ((found - expected) / expected).abs()
    );
}

fn check_each(case: &Value, found: &[f64], field: &str, relative: f64, absolute: f64) {
    let expected = list(case, field);
    assert_eq!(found.len(), expected.len(), "`{field}`");
    for (found, expected) in std::iter::zip(found, expected) {
        if expected.is_null() {
            let absent = *found == f64::NEG_INFINITY || found.abs() == 0.0;
            assert!(absent, "`{field}`: {found} at an impossible action");
            continue;
        }
        let expected = number(expected);
        let allowed = (relative * expected.abs()).max(absolute).max(UNDERFLOW);
        assert!((found - expected).abs() <= allowed, "`{field}`: {found:e}, oracle {expected:e}");
    }
}

/// Runs `check` on every case and names those that fail, so that one report shows them all.
fn for_each_case(check: impl Fn(&Value) + std::panic::RefUnwindSafe) {
    let oracle = oracle();
    let failed: Vec<&str> = list(&oracle, "cases")
        .iter()
        .filter(|case| std::panic::catch_unwind(|| check(case)).is_err())
        .map(name)
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn entropy_and_probabilities_have_full_relative_accuracy() {
    for_each_case(|case| {
        let (logits, ..) = inputs(case);
        let policy = policy(&logits);
        check(case, policy.entropy(), "H0", 1e-14, 0.0);
        assert_eq!(Some(policy.support() as u64), case["n_support"].as_u64());
        if case["p"].is_array() {
            check_each(case, policy.probs(), "p", 1e-13, 0.0);
            check_each(case, policy.log_probs(), "logp", 1e-14, 0.0);
        }
    });
}

#[test]
fn entropy_scores_are_minus_the_gradient() {
    for_each_case(|case| {
        if case["grad_H"].is_array() {
            let (logits, ..) = inputs(case);
            let policy = policy(&logits);
            let mut gradient = vec![0.0; logits.len()];
            policy.pull_back_entropy(1.0, &mut gradient);
            check_each(case, &gradient, "grad_H", 1e-13, 1e-16 * policy.entropy());
            let scores: f64 = (0..logits.len()).map(|action| policy.entropy_score(action)).sum();
            assert!(scores.abs() <= 1e-15 * policy.entropy().max(1.0), "scores sum to {scores:e}");
        }
    });
}

#[test]
fn covariances_under_the_policy_agree() {
    for_each_case(|case| {
        let (logits, advantage, _) = inputs(case);
        let policy = policy(&logits);
        let covariance = |y: &[f64]| policy.covariance(policy.log_probs(), y);
        let times_prob = |values: &[f64]| -> Vec<f64> {
            std::iter::zip(policy.probs(), values).map(|(p, v)| p * v).collect()
        };
        let mean = policy.mean(&advantage);
        let size = policy.entropy() * advantage.iter().fold(0.0, |m: f64, a| m.max(a.abs()));
        check(case, mean, "abar", 1e-14, 1e-15);
        check(case, covariance(policy.log_probs()), "var_logp", 1e-13, 1e-16 * size);
        check(case, covariance(&advantage), "cov_logp_A", 1e-13, 1e-16 * size);
        check(case, covariance(&times_prob(&advantage)), "cov_logp_piA_raw", 1e-13, 1e-16 * size);
        check(case, covariance(policy.probs()), "kappa_cov_logp_pi", 1e-13, 1e-16 * size);
        let step = logit_step::policy_gradient(&policy, &advantage, 1.0);
        check(case, covariance(&step), "cov_logp_piA_centred", 1e-13, 1e-16 * size);
    });
}

#[test]
fn steps_and_predictions_of_both_theorems_agree() {
    for_each_case(|case| {
        let (logits, advantage, eta) = inputs(case);
        let policy = policy(&logits);
        let size = eta * policy.entropy() * advantage.iter().fold(0.0, |m: f64, a| m.max(a.abs()));
        for (rule, step, prediction) in [
            (UpdateRule::PolicyGradient, "dz_pg", "thm1_prediction"),
            (UpdateRule::NaturalPolicyGradient, "dz_npg", "thm2_prediction"),
        ] {
            let predicted = rule.predicted_entropy_change(&policy, &advantage, eta);
            check(case, predicted, prediction, 1e-13, 1e-16 * size);
            if case[step].is_array() {
                let found = rule.step(&policy, &advantage, eta);
                check_each(case, &found, step, 1e-13, 1e-17 * eta);
            }
        }
    });
}

#[test]
fn entropy_change_has_full_relative_accuracy() {
    for_each_case(|case| {
        let (logits, advantage, eta) = inputs(case);
        let policy = policy(&logits);
        for (rule, side) in
            [(UpdateRule::PolicyGradient, "pg"), (UpdateRule::NaturalPolicyGradient, "npg")]
        {
            let expected = &case[side];
            let step = rule.step(&policy, &advantage, eta);
            let size = policy.entropy() * number(&expected["range_u"]);
            check(expected, policy.entropy_change(&step), "dH", 1e-12, 0.0);
            let first = policy.entropy_change_first_order(&step);
            check(expected, first, "first_order", 1e-13, 1e-16 * size);
            let half_curvature = 0.5 * policy.entropy_curvature(&step);
            check(expected, half_curvature, "second_order_term", 1e-12, 0.0);
            check(expected, policy.covariance(&step, &step), "var_u", 1e-13, 0.0);
            let second = policy.entropy_change_second_order(&step);
            assert!((second - first - half_curvature).abs() <= 1e-15 * second.abs());
        }
    });
}

#[test]
fn remainder_and_its_bounds_agree_and_hold() {
    for_each_case(|case| {
        let (logits, advantage, eta) = inputs(case);
        let policy = policy(&logits);
        for (rule, side) in
            [(UpdateRule::PolicyGradient, "pg"), (UpdateRule::NaturalPolicyGradient, "npg")]
        {
            let expected = &case[side];
            let step = rule.step(&policy, &advantage, eta);
            let remainder = policy.first_order_remainder(&step);
            check(expected, remainder, "remainder1", 1e-11, 0.0);
            let bound = policy.remainder_bound(&step);
            check(expected, bound, "bound_remainder1", 1e-13, 0.0);
            assert!(remainder.abs() <= bound, "{remainder:e} over {bound:e}");
            let local = policy.local_remainder_bound(&step);
            assert!(remainder.abs() <= local * (1.0 + 1e-12), "{remainder:e} over {local:e}");
        }
    });
}

#[test]
fn natural_flows_follow_their_closed_form() {
    let oracle = oracle();
    for flow in list(&oracle, "flows").iter().filter(|flow| flow["kind"] == "npg_closed_form") {
        let start = policy(&numbers(flow, "logits"));
        let reward = numbers(flow, "reward");
        for point in list(flow, "points") {
            let time = number(&point["t"]);
            let step = logit_step::natural_policy_gradient(&start, &reward, time);
            let logits: Vec<f64> =
                std::iter::zip(start.log_probs(), &step).map(|(l, s)| l + s).collect();
            let now = policy(&logits);
            check(point, now.entropy(), "H", 1e-12, 0.0);
            check(point, now.mean(&reward), "R", 1e-13, 0.0);
            check(point, now.covariance(&reward, &reward), "dRdt", 1e-12, 0.0);
            check(point, now.entropy_change_first_order(&reward), "dHdt", 1e-12, 1e-16);
            check(point, now.entropy_curvature(&reward), "d2Hdt2", 1e-11, 1e-16);
            let travelled = start.entropy() + start.entropy_change(&step);
            check(point, travelled, "H", 1e-12, 1e-15);
        }
    }
}

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
            let law = PerformanceLaw::fit(&entropy[..count], &reward[..count])
                .expect("the first entropies differ");
            check(early, law.a, "a", 1e-12, 0.0);
            let rest = law.rmse_on(&entropy[count..], &reward[count..]).expect("points remain");
            check(early, rest, "rmse_rest", 1e-11, 1e-14);
            let last = entropy.len() - 1;
            let error = (law.predict(entropy[last]) - reward[last]).abs();
            check(early, error, "abs_err_final", 1e-10, 1e-14);
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
