//! A table of an experiment.

use softmax_sim::reproduce::table::{Cell, Table};

#[test]
fn cells_of_all_kinds_come_back_from_json() {
    let mut table = Table::new("Methods.", &["Method", "Entropy (nat)", "Runs", "Reward"]);
    table.row(["GRPO".into(), 0.25.into(), 3.0.into(), f64::NAN.into()]);
    let json = serde_json::to_string(&table).unwrap();
    let read: Table = serde_json::from_str(&json).unwrap();
    assert_eq!(read.rows[0][..3], table.rows[0][..3]);
    assert!(matches!(read.rows[0][3], Cell::Number(value) if value.is_nan()), "{json}");
}

#[test]
#[should_panic(expected = "one cell a column of `Methods.`")]
fn a_short_row_is_the_callers_bug() {
    Table::new("Methods.", &["Method", "Entropy (nat)"]).row(["GRPO".into()]);
}
