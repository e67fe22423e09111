//! Numbers of a policy loss that a thermostat moves.

use rl_losses::{ClipCov, CovarianceControl, KlCov, Knob, PolicyLoss, PpoClip};

#[test]
fn what_is_set_is_read_and_nothing_else_changes() {
    let losses = [
        PolicyLoss::KlCov(KlCov::default()),
        PolicyLoss::ClipCov(ClipCov::default()),
        PolicyLoss::PpoClip(PpoClip::default()),
        // KL-Cov over clip-higher: it has all three.
        PolicyLoss::CovarianceControl(CovarianceControl::default()),
    ];
    let mut pairs = 0;
    for knob in [Knob::Fraction, Knob::Coefficient, Knob::ClipRatioHigh] {
        for loss in losses {
            let Ok(before) = knob.read(&loss) else {
                assert!(knob.set(&loss, 0.5).is_err());
                continue;
            };
            let moved = knob.set(&loss, 0.37).unwrap();
            assert!((knob.read(&moved).unwrap() - 0.37).abs() < f64::EPSILON);
            assert_eq!(knob.set(&moved, before).unwrap(), loss);
            pairs += 1;
        }
    }
    assert_eq!(pairs, 8);
}

#[test]
fn a_knob_that_is_not_there_or_too_far_is_refused_by_name() {
    let loss = PolicyLoss::PpoClip(PpoClip::default());
    let error = Knob::Coefficient.set(&loss, 1.0).unwrap_err();
    assert_eq!(error.to_string(), "the policy loss has no `coefficient` to move");
    let loss = PolicyLoss::KlCov(KlCov::default());
    let error = Knob::Fraction.set(&loss, 1.5).unwrap_err();
    assert_eq!(error.to_string(), "`fraction` is 1.5, expected a fraction above 0 and at most 1");
}
