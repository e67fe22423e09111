//! `conformance/cases.json`: what another framework checks itself against, and that it is in step.
//!
//! `UPDATE_CONFORMANCE=1 cargo test -p rl-losses exchange` writes the file.

use std::path::{Path, PathBuf};

use rand::Rng;
use rl_losses::{Column, PolicyLoss, TokenBatch, registry};
use serde_json::{Value, json};

use crate::batches::{Columns, losses, rules, seeded};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance")
}

/// Four sequences, one empty; log-ratios inside and outside every bound.
fn batch() -> Columns {
    let lengths = vec![5, 0, 7, 4];
    let tokens = lengths.iter().sum::<usize>();
    let mut rng = seeded(2505);
    // Four digits: the file is read by people too.
    let mut column = |low: f64, high: f64| -> Vec<f64> {
        let draw = |_| (rng.random_range(low..high) * 1e4).round() / 1e4;
        (0..tokens).map(draw).collect()
    };
    let shifted = |column: &[f64], by: Vec<f64>, highest: f64| -> Vec<f64> {
        let moved = std::iter::zip(column, by).map(|(x, by)| ((x - by) * 1e4).round() / 1e4);
        moved.map(|x| x.min(highest)).collect()
    };
    // No probability reaches 1, or a framework would have to take the logarithm of nothing.
    let likeliest = -0.01;
    let log_prob = column(-5.0, -0.05);
    let old_log_prob = shifted(&log_prob, column(-0.7, 0.7), likeliest);
    let entropy = column(0.05, 2.5);
    let optional = [
        entropy.clone(),
        shifted(&entropy, column(-0.04, 0.04), f64::INFINITY),
        shifted(&old_log_prob, column(-0.3, 0.3), likeliest),
        shifted(&old_log_prob, column(-0.02, 0.02), likeliest),
    ];
    let advantage = column(-1.5, 1.5);
    Columns { log_prob, old_log_prob, advantage, optional, lengths, micro_batches: vec![2, 2] }
}

fn outcome(loss: &PolicyLoss, batch: &TokenBatch<'_>, index: usize) -> Value {
    // The defaults under the rule they were published with, the others under each in turn.
    let published = registry().get(index).map(|method| method.aggregation);
    let rule = |further: usize| rules()[(further + 1) % 4];
    let aggregation = published.unwrap_or_else(|| rule(index - registry().len()));
    let plan = loss.plan(batch, &aggregation, &mut seeded(0)).expect("a batch of all columns");
    let output = loss.evaluate(batch, plan.part(0..batch.len()));
    json!({
        "policy_loss": loss,
        "aggregation": aggregation,
        "selected": plan.selected_tokens(),
        "weights": plan.weights(),
        "value": output.value,
        "grad_log_prob": output.grad_log_prob,
        "sums": output.sums,
    })
}

fn cases() -> Value {
    let columns = batch();
    let mut inputs = json!({
        "log_prob": columns.log_prob,
        "old_log_prob": columns.old_log_prob,
        "advantage": columns.advantage,
        "sequence_lengths": columns.lengths,
        "micro_batches": columns.micro_batches,
    });
    for column in Column::ALL {
        inputs[column.name()] = json!(columns.optional[column as usize]);
    }
    let batch = columns.batch();
    let cases: Vec<Value> =
        losses().iter().enumerate().map(|(index, loss)| outcome(loss, &batch, index)).collect();
    json!({ "version": 1, "inputs": inputs, "cases": cases })
}

/// Equal but for the last digits of the numbers.
fn assert_same(found: &Value, expected: &Value, place: &str) {
    match (found, expected) {
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().expect("a number"), b.as_f64().expect("a number"));
            assert!((a - b).abs() <= 1e-12 * b.abs().max(1.0), "{place}: {a}, written {b}");
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{place}");
            for (index, (a, b)) in std::iter::zip(a, b).enumerate() {
                assert_same(a, b, &format!("{place}[{index}]"));
            }
        }
        (Value::Object(a), Value::Object(b)) => {
            assert!(a.keys().eq(b.keys()), "{place}: other keys");
            for (key, a) in a {
                assert_same(a, &b[key], &format!("{place}.{key}"));
            }
        }
        _ => assert_eq!(found, expected, "{place}"),
    }
}

#[test]
fn the_exchanged_cases_are_in_step() {
    let file = folder().join("cases.json");
    let cases = cases();
    if std::env::var_os("UPDATE_CONFORMANCE").is_some() {
        let text = serde_json::to_string_pretty(&cases).expect("JSON of numbers");
        std::fs::write(&file, text + "\n").expect("a writable folder");
    }
    let text = std::fs::read_to_string(&file).expect("the cases are in the repository");
    let written: Value = serde_json::from_str(&text).expect("valid JSON");
    assert_same(&cases, &written, "cases");
}

/// The schema names what the cases have: no more, no less.
#[test]
fn the_schema_describes_the_cases() {
    let text = std::fs::read_to_string(folder().join("schema.json")).expect("a schema");
    let schema: Value = serde_json::from_str(&text).expect("valid JSON");
    let cases = cases();
    let keys = |value: &Value| -> Vec<String> {
        value.as_object().expect("an object").keys().cloned().collect()
    };
    assert_eq!(keys(&schema["properties"]), keys(&cases));
    assert_eq!(keys(&schema["properties"]["inputs"]["properties"]), keys(&cases["inputs"]));
    let case = &schema["properties"]["cases"]["items"]["properties"];
    assert_eq!(keys(case), keys(&cases["cases"][0]));
    assert_eq!(keys(&case["sums"]["properties"]), keys(&cases["cases"][0]["sums"]));
}
