//! The trust region of the ratio, and the surrogate clipped to it.

use proptest::prelude::*;
use rl_losses::{
    Aggregation, ClipRange, DualClip, LossOutput, PolicyLoss, PpoClip, TokenBatch, TokenColumns,
};

use crate::batches::seeded;

fn clip() -> ClipRange {
    ClipRange::new(0.2, 0.28).expect("in range")
}

/// The loss of one token that moved by `log_ratio`.
fn evaluate(loss: PpoClip, log_ratio: f64, advantage: f64) -> LossOutput {
    let columns =
        TokenColumns { log_prob: &[log_ratio], old_log_prob: &[0.0], advantage: &[advantage] };
    let batch = TokenBatch::new(columns, &[1]).expect("one token");
    let loss = PolicyLoss::PpoClip(loss);
    let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut seeded(0));
    loss.evaluate(&batch, plan.expect("no further column").part(0..1))
}

fn surrogate(log_ratio: f64, advantage: f64) -> f64 {
    evaluate(PpoClip::new(clip(), DualClip::OFF), log_ratio, advantage).value
}

/// The default's clip, without its dual clip.
fn without_dual_clip() -> PpoClip {
    PpoClip { clip_ratio_c: DualClip::OFF, ..PpoClip::default() }
}

#[test]
fn dual_clip_caps_the_loss_of_a_bad_token_that_grew_likely() {
    let grown = 4.0f64.ln();
    let capped = evaluate(PpoClip::default(), grown, -2.0);
    assert_eq!((capped.value, &capped.grad_log_prob[..]), (6.0, &[0.0][..]));
    let fork: PpoClip = toml::from_str("semantics = 'prime'").expect("settings");
    for loss in [fork, without_dual_clip()] {
        assert!((evaluate(loss, grown, -2.0).value - 8.0).abs() < 1e-14);
    }
    // A good token that grew is the business of the upper bound, not of this one.
    let sums = evaluate(PpoClip::default(), grown, 2.0).sums;
    assert_eq!((sums.clipped, sums.clipped_lower), (1, 0));
}

#[test]
fn beyond_twenty_nats_the_loss_is_flat() {
    let beyond = evaluate(without_dual_clip(), 25.0, -1.0);
    assert!((beyond.value / 20f64.exp() - 1.0).abs() < 1e-15);
    assert!(beyond.grad_log_prob[0].abs() < f64::MIN_POSITIVE);
    assert!(evaluate(without_dual_clip(), 20.0, -1.0).grad_log_prob[0] > 0.0);
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
        prop_assert!(surrogate(x, advantage) >= unclipped - 1e-12);
    }

    /// The branches of Eq. 7 written as they stand in the paper.
    #[test]
    fn surrogate_is_the_minimum_of_eq_7(x in -1.0f64..1.0, advantage in -3.0f64..3.0) {
        let ratio = x.exp();
        let clipped = ratio.clamp(0.8, 1.28);
        let expected = -(ratio * advantage).min(clipped * advantage);
        prop_assert!((surrogate(x, advantage) - expected).abs() < 1e-14);
    }
}
