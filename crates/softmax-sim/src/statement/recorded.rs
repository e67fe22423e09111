//! Numbers computed with 45 to 1600 digits, recorded as decimal strings.

use serde_json::Value;

/// Closed-form trajectories and values of GRPO's clock.
pub(super) fn document() -> Value {
    serde_json::from_str(include_str!("recorded_flows.json"))
        .expect("the recorded numbers are JSON")
}

/// A decimal string.
pub(super) fn number(value: &Value) -> f64 {
    value.as_str().and_then(|text| text.parse().ok()).expect("a decimal string")
}

/// A list of decimal strings.
pub(super) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}
