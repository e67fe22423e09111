//! Figures that are tiny parts of what they are summed from, or 0.

use crate::oracle::vectors::{UNDERFLOW, inputs, list, name, number};
use entropy_core::{Categorical, UpdateEffect, UpdateRule};
use serde_json::Value;

/// Relative error that the crate promises for every figure.
const RELATIVE: f64 = 1e-13;

/// Recorded by `tests/data/cancelling_cases.py`.
fn cancelling() -> Value {
    serde_json::from_str(include_str!("../../data/cancelling_cases.json")).expect("cases are JSON")
}

/// Relative error; 0 where both are 0 or below the range of `f64`.
fn error(found: f64, expected: f64) -> f64 {
    let difference = (found - expected).abs();
    if difference <= UNDERFLOW { 0.0 } else { difference / expected.abs() }
}

#[test]
fn every_figure_keeps_its_digits_whatever_cancels() {
    let cases = cancelling();
    let cases = list(&cases, "cases");
    assert!(cases.len() > 140);
    let (mut checked, mut failures) = (0, Vec::new());
    for case in cases {
        let (logits, advantage, eta) = inputs(case);
        for (rule, side) in
            [(UpdateRule::PolicyGradient, "pg"), (UpdateRule::NaturalPolicyGradient, "npg")]
        {
            let expected = |field: &str| number(&case[side][field]);
            let effect = UpdateEffect::new(&logits, &advantage, eta, rule).expect("valid inputs");
            for (field, actual, expected) in [
                ("entropy_after", effect.entropy_after, expected("H1")),
                ("delta", effect.delta, expected("dH")),
                ("first_order", effect.first_order, expected("first_order")),
                ("second_order", effect.second_order, expected("second_order_term")),
                ("remainder", effect.remainder, expected("remainder1")),
                ("covariance", -eta * effect.covariance, expected("first_order")),
                ("kl_new_old", effect.kl_new_old, expected("kl_new_old")),
                ("remainder_bound", effect.remainder_bound, expected("bound_remainder1")),
            ] {
                checked += 1;
                let error = error(actual, expected);
                if error.is_nan() || error > RELATIVE {
                    let name = name(case);
                    failures.push(format!(
                        "{name} {side} {field}: {actual:e}, not {expected:e}: {error:.1e}"
                    ));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} of {checked}:\n{}", failures.len(), failures.join("\n"));
}

/// Figures of a policy and a given step, for the cases with `eta` 1.
#[test]
fn a_given_step_keeps_its_digits_whatever_cancels() {
    let cases = cancelling();
    let mut checked = 0;
    for case in list(&cases, "cases") {
        let (logits, step, eta) = inputs(case);
        if eta.to_bits() != 1f64.to_bits() {
            continue;
        }
        let policy = Categorical::from_logits(&logits).expect("valid logits");
        for (field, actual) in [
            ("dH", policy.entropy_change(&step)),
            ("first_order", policy.entropy_change_first_order(&step)),
            ("second_order_term", 0.5 * policy.entropy_curvature(&step)),
            ("remainder1", policy.first_order_remainder(&step)),
        ] {
            let expected = number(&case["npg"][field]);
            let error = error(actual, expected);
            assert!(error <= RELATIVE, "{} {field}: {actual:e}, not {expected:e}", name(case));
            checked += 1;
        }
    }
    assert!(checked > 40, "{checked}");
}
