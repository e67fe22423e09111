//! The number a column is stored in: `f64`, or `f32` to move half the memory.

use proptest::prelude::*;
use rl_losses::Real;

proptest! {
    #[test]
    fn exp_agrees_with_the_standard_library(x in -707.9f64..707.9, y in -79.9f32..79.9) {
        let (actual, expected) = (Real::exp(x), x.exp());
        prop_assert!((actual / expected - 1.0).abs() <= 2.0 * f64::EPSILON, "{actual} {expected}");
        let (actual, expected) = (f64::from(Real::exp(y)), f64::from(y).exp());
        prop_assert!((actual / expected - 1.0).abs() <= f64::from(f32::EPSILON), "{actual} {expected}");
    }
}

#[test]
fn exp_of_nothing_is_one_and_no_argument_overflows() {
    assert_eq!(Real::exp(0.0f64).to_bits(), 1.0f64.to_bits());
    assert_eq!(Real::exp(0.0f32).to_bits(), 1.0f32.to_bits());
    assert!(Real::exp(f64::MAX).is_finite() && Real::exp(f64::MIN) > 0.0);
    assert!(Real::exp(f32::MAX).is_finite() && Real::exp(f32::MIN) > 0.0);
}
