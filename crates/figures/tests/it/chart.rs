//! The data of a chart, before it is drawn.

use figures::chart::{Axis, Mark, Series};

#[test]
fn an_axis_ignores_what_is_not_finite() {
    let axis = Axis::around("x", [1.0, f64::NAN, 3.0, f64::INFINITY], false, 0.0);
    assert_eq!((axis.low, axis.high), (1.0, 3.0));
    let axis = Axis::around("x", [2.0, 10.0], true, 0.1);
    assert_eq!((axis.low, axis.high), (0.0, 11.0));
}

#[test]
fn a_logarithmic_axis_holds_the_positive_values() {
    let axis = Axis::log("x", [0.0, -1.0, 1e-3, 10.0, f64::NAN]);
    assert!(axis.holds(1e-3) && axis.holds(10.0) && axis.low > 5e-4 && axis.high < 20.0);
    assert!((axis.place(0.1) - 0.5).abs() < 1e-12);
    assert!(axis.place(-1.0).is_nan());
    assert!(Axis::log("x", [5.0]).low < 5.0 && Axis::log("x", []).low > 0.0);
}

#[test]
fn spreads_stretch_a_logarithmic_axis_to_twice_its_points_and_no_further() {
    let series = |spread| {
        [Series::new("a", 0, Mark::Line, vec![(0.0, 1.0), (1.0, 4.0)]).with_spread(spread)]
    };
    let near = Axis::log_of("x", &series(vec![(0.0, 0.8, 1.2), (1.0, 3.0, 6.0)]));
    assert!(near.holds(0.8) && near.holds(6.0) && near.low > 0.7 && near.high < 7.0);
    let far = Axis::log_of("x", &series(vec![(0.0, -3.0, 1.2), (1.0, 1e-9, 400.0)]));
    assert!(far.holds(0.5) && far.holds(8.0) && far.low > 0.4 && far.high < 10.0, "{far:?}");
    assert!(Axis::log_of("x", &[]).low > 0.0);
}

#[test]
fn categories_stand_at_whole_numbers() {
    let axis = Axis::of_categories("method", &["GRPO", "RLOO"]);
    assert!((axis.place(0.0) - 0.25).abs() < 1e-12 && (axis.place(1.0) - 0.75).abs() < 1e-12);
}

#[test]
fn a_series_keeps_what_is_finite() {
    let points = vec![(0.0, 1.0), (1.0, f64::NAN), (f64::INFINITY, 2.0)];
    let series = Series::new("a", 0, Mark::Line, points);
    let series = series.with_spread(vec![(0.0, 0.5, 1.5), (1.0, f64::NAN, 2.0)]);
    assert_eq!(series.points, [(0.0, 1.0)]);
    assert_eq!(series.heights().collect::<Vec<_>>(), [1.0, 0.5, 1.5]);
}

#[test]
fn an_axis_never_is_empty() {
    let axis = Axis::around("x", [], false, 0.0);
    assert_eq!((axis.low, axis.high), (0.0, 1.0));
    let axis = Axis::around("x", [4.0], false, 0.1);
    assert_eq!((axis.low, axis.high), (2.0, 6.0));
    let axis = Axis::around("x", [0.0, 0.0], true, 0.1);
    assert_eq!((axis.low, axis.high), (0.0, 0.5), "counts of none begin at 0");
}
