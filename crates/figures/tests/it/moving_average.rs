//! Smoothing of a noisy curve.

use figures::moving_average::{first_and_last_tenth, moving_average, window};

#[test]
fn averages_by_hand() {
    let smoothed = moving_average(&[1.0, 2.0, 6.0, 3.0, 1.0], 3);
    let expected = [1.5, 3.0, 11.0 / 3.0, 10.0 / 3.0, 2.0];
    for (value, expected) in smoothed.iter().zip(expected) {
        assert!((value - expected).abs() < 1e-12, "{smoothed:?}");
    }
    assert_eq!(smoothed.len(), 5);
}

#[test]
fn a_straight_line_is_left_alone_inside() {
    let line: Vec<f64> = (0..40).map(|step| 3.0 - 0.5 * f64::from(step)).collect();
    for (value, expected) in moving_average(&line, 7)[3..37].iter().zip(&line[3..37]) {
        assert!((value - expected).abs() < 1e-12);
    }
}

#[test]
fn nothing_and_window_one_change_nothing() {
    assert_eq!(moving_average(&[], 5), Vec::<f64>::new());
    assert_eq!(moving_average(&[4.0, 8.0], 1), vec![4.0, 8.0]);
    assert_eq!((window(0), window(19), window(40), window(200)), (1, 1, 3, 11));
}

#[test]
fn tenths_take_at_least_one_value() {
    assert_eq!(first_and_last_tenth(&[5.0, 1.0, 2.0]), (5.0, 2.0));
    let values: Vec<f64> = (0..20).map(f64::from).collect();
    assert_eq!(first_and_last_tenth(&values), (0.5, 18.5));
    let (first, last) = first_and_last_tenth(&[]);
    assert!(first.is_nan() && last.is_nan());
}
