//! Each check of a verification fails for a formula that is slightly wrong, and names what is.

mod beyond;
mod losses;
mod steps;

use softmax_sim::Row;
use softmax_sim::population::{State, population};

const ORDER: &str = "order of the error, distance from 2";

fn states() -> Vec<State> {
    [population(1, 40, 3), population(1, 40, 16)].concat()
}

/// The checks among `rows` that failed.
fn failed(rows: &[Row]) -> Vec<&str> {
    rows.iter().filter(|row| !row.passed).map(|row| row.check.as_str()).collect()
}

/// The rows are right for the formula, and exactly `checks` fail for the wrong one.
fn assert_fails(right: &[Row], wrong: &[Row], checks: &[&str]) {
    assert!(failed(right).is_empty(), "{right:#?}");
    assert_eq!(failed(wrong), checks, "{wrong:#?}");
}
