//! Reading `tests/data/theory_vectors.json`, and comparing with it.

use entropy_core::Categorical;
use serde_json::Value;

/// Below this `f64` has no normal numbers left; oracle values there are expected to underflow.
pub(crate) const UNDERFLOW: f64 = 1e-300;

pub(crate) fn oracle() -> Value {
    serde_json::from_str(include_str!("../../data/theory_vectors.json"))
        .expect("the oracle is JSON")
}

/// Peaked, tiny, huge and nearly uniform cases, recorded by `tests/data/extreme_cases.py`.
pub(crate) fn extremes() -> Value {
    serde_json::from_str(include_str!("../../data/extreme_cases.json")).expect("the cases are JSON")
}

pub(crate) fn list<'a>(value: &'a Value, field: &str) -> &'a [Value] {
    value[field].as_array().unwrap_or_else(|| panic!("`{field}` is a list"))
}

pub(crate) fn number(value: &Value) -> f64 {
    let text = value.as_str().unwrap_or_else(|| panic!("{value} is a decimal string"));
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

pub(crate) fn numbers(value_of: &Value, field: &str) -> Vec<f64> {
    let value = |value: &Value| if value.is_null() { f64::NEG_INFINITY } else { number(value) };
    list(value_of, field).iter().map(value).collect()
}

pub(crate) fn name(case: &Value) -> &str {
    case["name"].as_str().expect("a case has a name")
}

/// Inputs of a case: logits, advantage, eta. The large case is stated by its formula.
pub(crate) fn inputs(case: &Value) -> (Vec<f64>, Vec<f64>, f64) {
    let eta = number(&case["eta"]);
    if case["logits"].is_array() {
        return (numbers(case, "logits"), numbers(case, "advantages"), eta);
    }
    let n = u32::try_from(case["n"].as_u64().expect("n is a count")).expect("n is small");
    let logits = (0..n).map(|a| f64::from((a * 7919) % 997) / 64.0 - 8.0).collect();
    let advantage = (0..n).map(|a| f64::from((a * 104_729) % 211) / 128.0 - 0.8125).collect();
    (logits, advantage, eta)
}

pub(crate) fn policy(logits: &[f64]) -> Categorical {
    Categorical::from_logits(logits).expect("the oracle's logits are valid")
}

/// Fails unless `found` is within `relative` of the oracle's `field`, or within `absolute`.
pub(crate) fn check(case: &Value, found: f64, field: &str, relative: f64, absolute: f64) {
    let expected = number(&case[field]);
    let allowed = (relative * expected.abs()).max(absolute).max(UNDERFLOW);
    assert!(
        (found - expected).abs() <= allowed,
        "`{field}`: {found:e}, oracle {expected:e}, relative error {:e}",
        ((found - expected) / expected).abs()
    );
}

pub(crate) fn check_each(case: &Value, found: &[f64], field: &str, relative: f64, absolute: f64) {
    let expected = list(case, field);
    assert_eq!(found.len(), expected.len(), "`{field}`");
    for (value, expected) in std::iter::zip(found, expected) {
        if expected.is_null() {
            let absent = *value == f64::NEG_INFINITY || value.abs() == 0.0;
            assert!(absent, "`{field}`: {value} at an impossible action");
            continue;
        }
        let expected = number(expected);
        let allowed = (relative * expected.abs()).max(absolute).max(UNDERFLOW);
        assert!((value - expected).abs() <= allowed, "`{field}`: {value:e}, oracle {expected:e}");
    }
}
