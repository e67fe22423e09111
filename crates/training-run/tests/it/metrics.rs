use std::fs;
use std::path::Path;

use training_run::metric;
use training_run::metrics::{MetricName, MetricsWriter, StepMetrics, Validation, read_metrics};
use workspace_tests::files::{folder, message};

fn step(number: u64, entropy: f64) -> StepMetrics {
    let mut metrics = StepMetrics::new(number);
    metrics.insert(metric!("actor/entropy"), entropy);
    metrics.insert(metric!("critic/score/mean"), 0.5);
    metrics
}

fn write(path: &Path, steps: &[StepMetrics]) {
    let mut writer = MetricsWriter::begin(path, &[]).expect("a folder to write to");
    for step in steps {
        writer.append(step).expect("it can be written");
    }
}

#[test]
fn a_line_has_the_step_first_then_names_in_order() {
    let folder = folder(&[]);
    let path = folder.path().join("metrics.jsonl");
    let mut metrics = step(3, 0.25);
    metrics.insert(MetricName::validation("gsm8k/test", Validation::Mean(4)), 0.75);
    write(&path, &[metrics]);
    assert_eq!(
        fs::read_to_string(&path).unwrap(),
        "{\"step\":3,\"actor/entropy\":0.25,\"critic/score/mean\":0.5,\
         \"val-core/gsm8k/test/acc/mean@4\":0.75}\n"
    );
}

#[test]
fn what_is_written_is_read_back_exactly() {
    let folder = folder(&[]);
    let path = folder.path().join("metrics.jsonl");
    let steps = [step(1, 0.1 + 0.2), step(2, f64::MIN_POSITIVE), step(3, -1.0e300 / 3.0)];
    write(&path, &steps);
    assert_eq!(read_metrics(&path).unwrap(), steps);
}

#[test]
fn values_that_are_not_finite_are_absent_and_counted() {
    let mut metrics = step(1, f64::NAN);
    metrics.insert(metric!("actor/lr"), f64::INFINITY);
    assert_eq!(metrics.get("actor/entropy"), None);
    assert_eq!(metrics.get("actor/lr"), None);
    assert_eq!(metrics.get("training/omitted_metrics"), Some(2.0));
}

#[test]
fn a_spread_is_mean_largest_and_smallest_and_absent_for_nothing() {
    let names = || {
        [
            metric!("critic/rewards/mean"),
            metric!("critic/rewards/max"),
            metric!("critic/rewards/min"),
        ]
    };
    let mut metrics = StepMetrics::new(1);
    metrics.insert_spread(names(), []);
    assert_eq!(metrics.iter().count(), 0);
    metrics.insert_spread(names(), [1.0, -2.0, 4.0]);
    let values: Vec<_> = metrics.iter().collect();
    assert_eq!(
        values,
        [("critic/rewards/max", 4.0), ("critic/rewards/mean", 1.0), ("critic/rewards/min", -2.0)]
    );
}

#[test]
fn a_resumed_file_loses_the_torn_line_and_the_steps_to_be_done_again() {
    let folder = folder(&[]);
    let path = folder.path().join("metrics.jsonl");
    write(&path, &[step(1, 1.0), step(2, 0.5), step(3, 0.25)]);
    let mut text = fs::read_to_string(&path).unwrap();
    text.push_str("{\"step\":4,\"actor/ent");
    fs::write(&path, text).unwrap();
    let rows = read_metrics(&path).unwrap();
    assert_eq!(rows.len(), 3, "a reader skips the torn line");
    let mut writer = MetricsWriter::begin(&path, &rows[..2]).unwrap();
    writer.append(&step(3, 0.125)).unwrap();
    assert_eq!(read_metrics(&path).unwrap(), [step(1, 1.0), step(2, 0.5), step(3, 0.125)]);
}

#[test]
fn a_bad_line_in_the_middle_is_an_error_with_its_number() {
    let cases = [
        ("[]", "not a JSON object ("),
        ("{\"actor/entropy\":1}", "`step` is not a whole number, expected"),
        ("{\"step\":2,\"actor/entropy\":\"x\"}", "`actor/entropy` is \"x\", expected"),
    ];
    for (line, expected) in cases {
        let folder = folder(&[("m.jsonl", &format!("{{\"step\":1}}\n{line}\n{{\"step\":3}}\n"))]);
        let text = message(read_metrics(&folder.path().join("m.jsonl")), folder.path());
        assert!(text.starts_with(&format!("DIR/m.jsonl:2: {expected}")), "{text}");
    }
}
