//! The calculator `softmax-sim entropy-change` against numbers computed with 45 to 1600 digits, and as
//! it is called from outside.

mod lines;
mod request;

use serde_json::{Value, json};
use softmax_sim::entropy_change::stream;
use std::io::Write;
use std::process::{Command, Output, Stdio};

fn oracle() -> Value {
    let path = "/../entropy-core/tests/data/theory_vectors.json";
    let path = format!("{}{path}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("the oracle is in the repository");
    serde_json::from_str(&text).expect("the oracle is JSON")
}

fn number(value: &Value) -> f64 {
    value.as_str().expect("a decimal string").parse().expect("a number")
}

/// The cases with their inputs spelled out, as one line per update rule.
fn requests(oracle: &Value) -> Vec<(Value, Value)> {
    let cases = oracle["cases"].as_array().expect("a list");
    let stated = cases.iter().filter(|case| case["logits"].is_array());
    let column = |values: &Value| -> Vec<Option<f64>> {
        let values = values.as_array().expect("a list").iter();
        values
            .map(|value| {
                let value = number(value);
                (value != f64::NEG_INFINITY).then_some(value)
            })
            .collect()
    };
    stated
        .flat_map(|case| ["pg", "npg"].map(|rule| (case, rule)))
        .map(|(case, rule)| {
            let request = json!({
                "id": {"case": case["name"], "rule": rule},
                "logits": column(&case["logits"]),
                "advantages": column(&case["advantages"]),
                "eta": number(&case["eta"]),
                "rule": rule,
            });
            (case.clone(), request)
        })
        .collect()
}

fn answers(requests: &str) -> Vec<Value> {
    let (mut out, mut problems) = (Vec::new(), Vec::new());
    stream(requests.as_bytes(), &mut out, &mut problems).expect("a slice can be read");
    assert!(problems.is_empty(), "{}", String::from_utf8_lossy(&problems));
    String::from_utf8(out)
        .expect("JSON is UTF-8")
        .lines()
        .map(|line| serde_json::from_str(line).expect("a line of JSON"))
        .collect()
}

#[test]
fn every_answer_agrees_with_the_multi_precision_oracle() {
    let requests = requests(&oracle());
    assert!(requests.len() >= 60, "{}", requests.len());
    let lines: Vec<String> = requests.iter().map(|(_, request)| request.to_string()).collect();
    let replies = answers(&lines.join("\n"));
    assert_eq!(replies.len(), requests.len());
    let mut failures = Vec::new();
    for ((case, request), answer) in std::iter::zip(&requests, &replies) {
        assert_eq!(answer["id"], request["id"]);
        let rule = request["rule"].as_str().expect("a name");
        let expected = &case[rule];
        let covariance = if rule == "pg" { "cov_logp_piA_centred" } else { "cov_logp_A" };
        let mut check = |field: &str, expected: f64, relative: f64, absolute: f64| {
            let value = answer[field].as_f64().expect("a number");
            let allowed = (relative * expected.abs()).max(absolute).max(1e-300);
            if (value - expected).abs() > allowed {
                failures.push(format!("{} `{field}` is {value:e}, not {expected:e}", answer["id"]));
            }
        };
        check("entropy_before", number(&case["H0"]), 1e-14, 0.0);
        check("entropy_after", number(&expected["H1"]), 1e-13, 0.0);
        check("delta", number(&expected["dH"]), 1e-13, 0.0);
        check("first_order", number(&expected["first_order"]), 1e-13, 0.0);
        check("second_order", number(&expected["second_order_term"]), 1e-13, 0.0);
        check("remainder", number(&expected["remainder1"]), 1e-13, 0.0);
        check("remainder_bound", number(&expected["bound_remainder1"]), 1e-13, 0.0);
        check("covariance", number(&case[covariance]), 1e-13, 0.0);
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

/// A baseline changes no answer for either rule: the policy gradient centres, and a constant added
/// to all logits is no change.
#[test]
fn a_baseline_changes_no_answer() {
    for rule in ["pg", "npg"] {
        let row = |shift: f64| {
            let advantages = [1.0, -0.5, 0.25].map(|a| a + shift);
            format!(
                "{}\n",
                json!({"logits": [0.5, -1.0, 0.0], "advantages": advantages, "eta": 0.125, "rule": rule})
            )
        };
        let replies = answers(&(row(0.0) + &row(64.0)));
        for field in ["delta", "first_order", "covariance"] {
            let [plain, shifted] =
                [0, 1].map(|line: usize| replies[line][field].as_f64().expect("a number"));
            assert!((plain - shifted).abs() < 1e-14, "{rule} `{field}`: {plain} {shifted}");
        }
    }
}

fn softmax_sim(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_softmax-sim"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built with the tests");
    child
        .stdin
        .take()
        .expect("the input is a pipe")
        .write_all(input.as_bytes())
        .expect("the command reads its input");
    child.wait_with_output().expect("the command ends")
}

const GOOD: &str =
    r#"{"id": "a", "logits": [0, 1], "advantages": [1, 0], "eta": 0.5, "rule": "npg"}"#;

#[test]
fn a_bad_line_is_reported_and_costs_no_other() {
    let input = format!("{GOOD}\n{{\"logits\": [NaN]}}\n{GOOD}\n");
    let output = softmax_sim(&["entropy-change"], &input);
    assert_eq!(output.status.code(), Some(1));
    let (out, problems) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(out.lines().count(), 2);
    assert!(out.starts_with("{\"id\":\"a\",\"entropy_before\":"), "{out}");
    assert_eq!(
        problems,
        "line 2, column 13: `logits[0]`: not a JSON value; expected a finite number, or null for an \
         impossible action\n1 of 3 lines had no answer\n"
    );
}

#[test]
fn a_file_is_read_as_standard_input_is() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("rows.jsonl");
    std::fs::write(&path, format!("{GOOD}\n")).unwrap();
    let from_file = softmax_sim(&["entropy-change", path.to_str().unwrap()], "");
    let from_pipe = softmax_sim(&["entropy-change", "-"], GOOD);
    assert_eq!(from_file.status.code(), Some(0), "{from_file:?}");
    assert_eq!(from_file.stdout, from_pipe.stdout);
    assert!(from_file.stderr.is_empty());

    let missing = softmax_sim(&["entropy-change", "no-such-file.jsonl"], "");
    assert_eq!(missing.status.code(), Some(2));
    let problem = String::from_utf8_lossy(&missing.stderr).into_owned();
    assert!(problem.starts_with("error: no-such-file.jsonl: cannot open: "), "{problem}");
}
