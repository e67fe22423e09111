//! Round numbers along an axis.

use figures::axis_ticks::{axis_ticks, log_ticks};

fn labels(low: f64, high: f64, target: usize) -> (Vec<String>, String) {
    let ticks = axis_ticks(low, high, target);
    (ticks.labels, ticks.factor)
}

#[test]
fn multiples_of_one_two_five() {
    assert_eq!(labels(0.0, 1.0, 5).0, ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]);
    assert_eq!(labels(1.0, 200.0, 5).0, ["50", "100", "150", "200"]);
    assert_eq!(labels(-0.3, 0.21, 5).0, ["−0.3", "−0.2", "−0.1", "0.0", "0.1", "0.2"]);
    assert_eq!(labels(0.11, 0.14, 4).0, ["0.11", "0.12", "0.13", "0.14"]);
}

#[test]
fn tiny_and_huge_values_share_a_factor() {
    let (small, factor) = labels(-2e-5, 4e-5, 3);
    assert_eq!((small.join(" "), factor.as_str()), ("−2 0 2 4".to_owned(), "×10⁻⁵"));
    assert_eq!(labels(0.0, 3e6, 3), (["0", "1", "2", "3"].map(String::from).into(), "×10⁶".into()));
}

#[test]
fn logarithmic_axes_have_powers_of_ten() {
    let labels = |low, high| log_ticks(low, high, 6).labels.join(" ");
    assert_eq!(labels(0.004, 300.0), "0.01 0.1 1 10 100");
    assert_eq!(labels(0.9, 30.0), "1 2 5 10 20");
    assert_eq!(labels(1e-6, 1e-4), "10⁻⁶ 10⁻⁵ 10⁻⁴");
    assert_eq!(labels(3e-12, 2e6), "10⁻⁹ 10⁻⁶ 0.001 1 1000 10⁶");
    assert_eq!(labels(0.97, 1.04), "0.97 0.98 0.99 1.00 1.01 1.02 1.03 1.04");
    assert_eq!(labels(-1.0, 1.0), "");
    let positions = log_ticks(0.004, 300.0, 6).positions;
    assert!((positions[0] - 0.01).abs() < 1e-15 && (positions[4] - 100.0).abs() < 1e-9);
}

#[test]
fn steps_are_whole() {
    assert_eq!(axis_ticks(1.0, 3.0, 6).whole().labels, ["1", "2", "3"]);
    assert_eq!(axis_ticks(0.0, 40.0, 4).whole().labels, ["0", "10", "20", "30", "40"]);
}

#[test]
fn an_empty_range_has_no_ticks() {
    assert!(axis_ticks(1.0, 1.0, 5).positions.is_empty());
    assert!(axis_ticks(f64::NAN, 1.0, 5).positions.is_empty());
    assert!(axis_ticks(2.0, 1.0, 5).positions.is_empty());
}
