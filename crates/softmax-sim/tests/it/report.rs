//! Result of a verification: rows, a table, a file.

use softmax_sim::{Report, Row};

fn report() -> Report {
    Report {
        seed: 1,
        rows: vec![
            Row::of("order", 0.05, [0.001, 0.02]).about("Lemma 1"),
            Row::of("bound over remainder", 1.0, [1.5]).about("Theorem 1"),
        ],
    }
}

#[test]
fn table_is_aligned_and_names_the_failure() {
    insta::assert_snapshot!(report().table(false));
}

#[test]
fn methods_stand_below_their_checks() {
    let row = Row::of("order", 0.05, [0.001]).by("slope over seven steps");
    let table = Report { seed: 1, rows: vec![row] }.table(true);
    assert!(table.contains("pass\n      slope over seven steps\n"), "{table}");
}

#[test]
fn a_mean_near_its_target_passes_and_one_beside_it_fails() {
    let row = |target| Row::near("order", target, 0.05, [2.0, 2.001, 1.999, 2.002]);
    assert!(row(2.0).passed && !row(3.0).passed);
    let [low, high] = row(2.0).interval.unwrap();
    assert!(low < 2.0 && 2.0 < high && high - low < 0.01, "{low} {high}");
    assert!(!Row::near("order", 2.0, 0.05, [2.0, f64::NAN]).passed);
    assert!(!Row::near("order", 2.0, 0.05, []).passed);
}

#[test]
fn what_cannot_be_measured_fails() {
    for values in [vec![f64::NAN, 0.0], vec![0.0, f64::NAN], vec![f64::INFINITY], vec![]] {
        assert!(!Row::of("order", 1.0, values.clone()).passed, "{values:?}");
    }
}

#[test]
fn one_failed_row_fails_the_report() {
    assert!(!report().passed());
    assert!(Report { seed: 1, rows: report().rows[..1].to_vec() }.passed());
    assert!(!Report { seed: 1, rows: vec![] }.passed());
}
