//! Numbers as a reader wants them: few digits, a real minus sign, powers of ten.

use figures::number_format::{fixed, significant};

#[test]
fn significant_digits() {
    let cases = [
        (0.123_456, "0.123"),
        (12.345, "12.3"),
        (-0.05, "−0.0500"),
        (1234.0, "1234"),
        (0.9999, "1.00"),
        (1.234e-5, "1.23×10⁻⁵"),
        (-2.5e12, "−2.50×10¹²"),
        (0.0, "0"),
        (f64::NAN, "–"),
        (f64::INFINITY, "–"),
    ];
    for (value, expected) in cases {
        assert_eq!(significant(value, 3), expected);
    }
}

#[test]
fn fixed_decimals_never_show_minus_zero() {
    assert_eq!(fixed(-0.001, 2), "0.00");
    assert_eq!(fixed(-1.256, 2), "−1.26");
    assert_eq!(fixed(f64::NAN, 2), "–");
}
