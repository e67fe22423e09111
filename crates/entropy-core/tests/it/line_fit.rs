//! A straight line through points, by least squares.

use entropy_core::LineFit;

#[test]
fn points_above_one_place_have_no_line() {
    assert_eq!(LineFit::through(&[2.0, 2.0], &[0.0, 1.0]), None);
    assert_eq!(LineFit::through(&[2.0], &[0.0]), None);
    assert_eq!(LineFit::through(&[], &[]), None);
}

#[test]
fn a_line_is_found_again() {
    let line = LineFit::through(&[0.0, 1.0, 3.0], &[1.0, 3.0, 7.0]).unwrap();
    assert_eq!((line.slope, line.intercept, line.r_squared), (2.0, 1.0, Some(1.0)));
    assert_eq!(line.rmse_on(&[2.0], &[6.0]), Some(1.0));
}
