//! One line of input: a policy, its advantages and a step.

use softmax_sim::entropy_change::{Answer, Request};

fn problem(line: &str) -> String {
    let request = Request::parse(3, line.as_bytes());
    request.and_then(|request| request.answer(3)).expect_err("it is refused").to_string()
}

/// A line with one field replaced, or added.
fn with(field: &str, value: &str) -> String {
    let fields =
        [("logits", "[0, 1]"), ("advantages", "[1, 0]"), ("eta", "0.1"), ("rule", "\"pg\"")];
    let known = fields.iter().any(|(name, _)| *name == field);
    let mut parts: Vec<String> = fields
        .iter()
        .map(|(name, usual)| format!("\"{name}\": {}", if *name == field { value } else { usual }))
        .collect();
    if !known {
        parts.push(format!("\"{field}\": {value}"));
    }
    format!("{{{}}}", parts.join(", "))
}

#[test]
fn every_problem_names_line_field_and_what_was_expected() {
    let lines = [
        with("logits", "[0, NaN]"),
        with("logits", "[0, 1e999]"),
        with("logits", "[0, \"1\"]"),
        with("logits", "[]"),
        with("logits", "[null, null]"),
        with("logits", "3"),
        with("logits", "[0, 1, 2]"),
        with("advantages", "[0, -Infinity]"),
        with("advantages", "[0, null]"),
        with("eta", "null"),
        with("eta", "1e999"),
        with("eta", "\"big\""),
        with("rule", "\"ppo\""),
        with("learning_rate", "0.1"),
        with("advantages", "[1e308, -1e308]"),
        "{\"logits\": [0, 1]}".into(),
        "{\"logits\": [0, 1".into(),
        "[1, 2]".into(),
        "\u{1}".into(),
    ];
    let text: Vec<String> =
        lines.iter().map(|line| format!("{line}\n  {}", problem(line))).collect();
    insta::assert_snapshot!(text.join("\n"));
}

/// A step down is the step up of the negated advantages; only the covariance is of the advantages as given.
#[test]
fn a_negative_eta_steps_down() {
    for rule in ["\"pg\"", "\"npg\""] {
        let answer = |advantages: &str, eta: &str| {
            let line = format!(
                "{{\"logits\": [0.5, -1, 2], \"advantages\": {advantages}, \"eta\": {eta}, \"rule\": {rule}}}"
            );
            Request::parse(1, line.as_bytes()).and_then(|request| request.answer(1)).unwrap()
        };
        let (down, up) = (answer("[1, 0.25, 0]", "-0.3"), answer("[-1, -0.25, 0]", "0.3"));
        assert!(down.remainder.abs() <= down.remainder_bound, "{down:?}");
        assert!(down.delta < -0.01, "{down:?}");
        assert!((down.first_order - 0.3 * down.covariance).abs() < 1e-15, "{down:?}");
        assert_eq!(down, Answer { covariance: -up.covariance, ..up });
    }
}

#[test]
fn an_impossible_action_needs_no_advantage() {
    let line = r#"{"logits": [0, null, 1], "advantages": [1, null, 0], "eta": 1, "rule": "npg"}"#;
    let without = r#"{"logits": [0, 1], "advantages": [1, 0], "eta": 1, "rule": "npg"}"#;
    let answer =
        |line: &str| Request::parse(1, line.as_bytes()).and_then(|request| request.answer(1));
    assert_eq!(answer(line), answer(without));
}
