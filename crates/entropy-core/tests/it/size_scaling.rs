//! How a coefficient of the law grows with the size of the model.

use entropy_core::SizeScaling;

const SIZES: [f64; 7] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0];

/// Expected values by multi-precision least squares.
#[test]
fn the_line_is_that_of_least_squares_in_the_logarithm() {
    let b = [0.146, 0.226, 0.284, 0.357, 0.414, 0.479, 0.577];
    let scaling = SizeScaling::fit(&SIZES, &b).unwrap();
    assert!((scaling.line.slope / 0.099_391_383_352_671_8 - 1.0).abs() < 1e-13);
    assert!((scaling.line.intercept / 0.148_035_714_285_714_28 - 1.0).abs() < 1e-13);
    assert!((scaling.line.r_squared.unwrap() - 0.995_407_692_669_856_8).abs() < 1e-13);
    let predicted = scaling.predict(64.0).unwrap();
    assert!((predicted - 0.561_392_857).abs() < 1e-8, "{predicted}");
}

#[test]
fn sizes_that_make_no_line_are_named() {
    let message =
        |sizes: &[f64], values: &[f64]| SizeScaling::fit(sizes, values).unwrap_err().to_string();
    assert_eq!(message(&SIZES, &[1.0]), "`coefficients` has 1 values; expected 7");
    assert_eq!(message(&[1.0], &[1.0]), "`number of models` is 1; expected at least 2");
    assert_eq!(message(&[1.0, -2.0], &[1.0; 2]), "`size` is -2; expected a positive number");
    assert_eq!(
        message(&[7.0, 7.0], &[1.0, 2.0]),
        "`size` is 7; expected two different sizes, not one throughout"
    );
    assert!(message(&[1.0, 2.0], &[0.0, f64::NAN]).starts_with("`coefficients` is NaN"));
}
