//! Means, intervals and curves over seeds.

use figures::Mark;
use softmax_sim::reproduce::seeds::{curve, curve_with_range, interval};

/// The table of Student: 4.302653 for two degrees of freedom, 12.706205 for one.
#[test]
fn intervals_by_hand() {
    let three = interval(&[1.0, 2.0, 3.0]);
    assert!((three.mean - 2.0).abs() < 1e-15);
    assert!((three.high - 2.0 - 4.302_652_73 / 3f64.sqrt()).abs() < 1e-6, "{three:?}");
    assert!((three.low + three.high - 4.0).abs() < 1e-12);
    let two = interval(&[0.0, f64::NAN, 2.0]);
    assert!((two.high - 1.0 - 12.706_204_74).abs() < 1e-5, "{two:?}");
}

#[test]
fn one_value_has_no_interval_and_none_has_no_mean() {
    let one = interval(&[4.0]);
    assert!(one.low.is_nan() && one.high.is_nan());
    assert_eq!(one.text(), "4.00");
    assert!(interval(&[]).mean.is_nan());
}

#[test]
fn a_range_reaches_from_the_least_to_the_largest() {
    let curve = curve_with_range("a", 0, &[0.0, 1.0], &[vec![1.0, 5.0], vec![3.0, 2.0]]);
    assert_eq!(curve.points, [(0.0, 2.0), (1.0, 3.5)]);
    assert_eq!(curve.spread, [(0.0, 1.0, 3.0), (1.0, 2.0, 5.0)]);
}

#[test]
fn a_curve_ends_with_its_runs() {
    let runs = [vec![1.0, 2.0], vec![3.0, 4.0, 9.0]];
    let curve = curve("a", 0, Mark::Line, &[0.0, 1.0, 2.0], &runs);
    assert_eq!(curve.points, [(0.0, 2.0), (1.0, 3.0), (2.0, 9.0)]);
    assert_eq!(curve.spread.len(), 2);
}
