//! Metrics of a run in formats of other programs.

use run_report::export::write_csv;
use training_run::metric;
use training_run::metrics::StepMetrics;

#[test]
fn a_metric_that_is_missing_is_an_empty_cell_and_numbers_keep_their_bits() {
    let (mut first, mut second) = (StepMetrics::new(1), StepMetrics::new(2));
    first.insert(metric!("actor/entropy"), 0.1 + 0.2);
    second.insert(metric!("actor/entropy"), 1e-300);
    second.insert(metric!("actor/lr"), 1.0);
    let mut text = Vec::new();
    write_csv(&[first, second], &mut text).unwrap();
    let text = String::from_utf8(text).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows[0], ["step", "actor/entropy", "actor/lr"]);
    assert_eq!(rows[1], ["1", "0.30000000000000004", ""]);
    assert_eq!(rows[2][1].parse::<f64>().unwrap().to_bits(), 1e-300_f64.to_bits());
}

#[test]
fn no_steps_are_a_header_alone() {
    let mut text = Vec::new();
    write_csv(&[], &mut text).unwrap();
    assert_eq!(text, b"step\n");
}
