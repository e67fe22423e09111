//! Entropy, covariance and the change of entropy along a step.

use crate::oracle::vectors::{
    check, check_each, extremes, inputs, list, name, number, oracle, policy,
};
use entropy_core::{StepDivergence, UpdateEffect, UpdateRule, logit_step};
use serde_json::Value;

/// Runs `check` on every case of the oracle and names those that fail, so that one report shows
/// them all.
fn for_each_case(check: impl Fn(&Value) + std::panic::RefUnwindSafe) {
    for_each_case_of(&oracle(), check);
}

fn for_each_case_of(oracle: &Value, check: impl Fn(&Value) + std::panic::RefUnwindSafe) {
    let failed: Vec<&str> = list(oracle, "cases")
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
            policy.vjp_entropy(1.0, &mut gradient);
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
        let kappa = policy.log_prob_prob_covariance();
        check(case, kappa, "kappa_cov_logp_pi", 1e-13, 1e-16 * policy.entropy());
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
                let actual = rule.step(&policy, &advantage, eta);
                check_each(case, &actual, step, 1e-13, 1e-17 * eta);
            }
        }
    });
}

/// Every figure of one update, to 1e-13 of itself, for the cases of both files.
#[test]
fn entropy_change_has_full_relative_accuracy() {
    let check_case = |case: &Value| {
        let (logits, advantage, eta) = inputs(case);
        for (rule, side) in
            [(UpdateRule::PolicyGradient, "pg"), (UpdateRule::NaturalPolicyGradient, "npg")]
        {
            let expected = &case[side];
            let effect = UpdateEffect::new(&logits, &advantage, eta, rule).expect("valid inputs");
            let range = number(&expected["range_u"]);
            let size = effect.entropy_before * range;
            check(case, effect.entropy_before, "H0", 1e-14, 0.0);
            check(expected, effect.entropy_after, "H1", 1e-13, 0.0);
            check(expected, effect.delta, "dH", 1e-13, 0.0);
            check(expected, effect.first_order, "first_order", 1e-13, 0.0);
            check(expected, effect.second_order, "second_order_term", 1e-13, 0.0);
            // Cumulants of a symmetric policy cancel.
            check(expected, effect.third_order, "third_order_term", 1e-13, 1e-16 * range.powi(3));
            check(expected, effect.kl_new_old, "kl_new_old", 1e-13, 0.0);
            check(expected, effect.kl_old_new, "kl_old_new", 1e-13, 0.0);
            check(expected, effect.remainder, "remainder1", 1e-13, 0.0);
            check(expected, effect.remainder_bound, "bound_remainder1", 1e-13, 0.0);
            assert!(effect.remainder.abs() <= effect.remainder_bound, "{effect:?}");
            assert!((effect.first_order + eta * effect.covariance).abs() <= 1e-15 * size);
        }
    };
    let extremes = extremes();
    assert!(list(&extremes, "cases").len() > 60);
    for_each_case(check_case);
    for_each_case_of(&extremes, check_case);
}

#[test]
fn orders_of_the_expansion_add_up() {
    for_each_case(|case| {
        let (logits, advantage, eta) = inputs(case);
        let policy = policy(&logits);
        for rule in [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient] {
            let step = rule.step(&policy, &advantage, eta);
            let first = policy.entropy_change_first_order(&step);
            let half_curvature = 0.5 * policy.entropy_curvature(&step);
            let second = policy.entropy_change_second_order(&step);
            assert!((second - first - half_curvature).abs() <= 1e-15 * second.abs());
            let third = policy.entropy_change_third_order(&step);
            let sixth = policy.entropy_third_derivative(&step) / 6.0;
            assert!((third - second - sixth).abs() <= 1e-15 * third.abs());
        }
    });
}

/// The three forms agree with the recorded change to the rounding of their own terms.
#[test]
fn finite_step_identities_hold() {
    let check_case = |case: &Value| {
        let (logits, advantage, eta) = inputs(case);
        let policy = policy(&logits);
        for (rule, side) in
            [(UpdateRule::PolicyGradient, "pg"), (UpdateRule::NaturalPolicyGradient, "npg")]
        {
            let (expected, step) = (&case[side], rule.step(&policy, &advantage, eta));
            let identities = policy.entropy_change_identities(&step);
            let StepDivergence { new_from_old, old_from_new } = policy.step_divergence(&step);
            let change = number(&expected["dH"]).abs();
            let rounding = 1e-15 * (new_from_old + old_from_new);
            // A step is recorded exactly and taken rounded, as a constant added to it shows.
            let of_step = step.iter().fold(0.0f64, |most, d| most.max(d.abs())) * policy.entropy();
            let allowed = 1e-13 * change + rounding + 1e-15 * of_step;
            for identity in [identities.from_old, identities.from_new, identities.symmetric] {
                check(expected, identity, "dH", 0.0, allowed);
            }
        }
    };
    for_each_case(check_case);
    for_each_case_of(&extremes(), check_case);
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
            check(expected, remainder, "remainder1", 1e-13, 0.0);
            let bound = policy.remainder_bound(&step);
            check(expected, bound, "bound_remainder1", 1e-13, 0.0);
            assert!(remainder.abs() <= bound, "{remainder:e} over {bound:e}");
            let local = policy.local_remainder_bound(&step);
            assert!(remainder.abs() <= local * (1.0 + 1e-12), "{remainder:e} over {local:e}");
        }
    });
}
