//! The trust region of the ratio, and the surrogate clipped to it.

use proptest::prelude::*;
use rl_losses::ClipRange;

fn clip() -> ClipRange {
    ClipRange::new(0.2, 0.28).expect("in range")
}

#[test]
fn a_negative_bound_is_refused_by_name() {
    let error = ClipRange::new(0.2, -0.1).unwrap_err();
    let expected = "`clip_ratio_high` is -0.1, expected a finite number, 0 or above";
    assert_eq!(error.to_string(), expected);
    assert!(ClipRange::new(f64::NAN, 0.2).is_err());
}

/// Bounds of 0.8 and 1.28: 1.25 is inside, though it would not be as far below.
#[test]
fn each_side_has_its_own_bound() {
    let clipped = |ratio: f64, advantage: f64| clip().is_clipped(ratio.ln(), advantage);
    assert!(!clipped(1.25, 1.0) && clipped(1.3, 1.0) && !clipped(1.3, -1.0));
    assert!(!clipped(0.82, -1.0) && clipped(0.75, -1.0) && !clipped(0.75, 1.0));
    assert!(!clipped(9.0, 0.0) && !clipped(0.1, 0.0));
}

proptest! {
    /// The pessimistic bound of PPO: clipping never lowers the loss.
    #[test]
    fn clipping_never_lowers_the_loss(x in -1.0f64..1.0, advantage in -3.0f64..3.0) {
        let unclipped = -x.exp() * advantage;
        prop_assert!(clip().surrogate(x, advantage).value >= unclipped - 1e-12);
    }

    /// The branches of Eq. 7 written as they stand in the paper.
    #[test]
    fn surrogate_is_the_minimum_of_eq_7(x in -1.0f64..1.0, advantage in -3.0f64..3.0) {
        let ratio = x.exp();
        let clipped = ratio.clamp(0.8, 1.28);
        let expected = -(ratio * advantage).min(clipped * advantage);
        prop_assert!((clip().surrogate(x, advantage).value - expected).abs() < 1e-14);
    }
}
