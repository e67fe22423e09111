//! A number of the policy loss that moves with the run.

use rl_losses::{Annealing, KlCov, Knob, PolicyLoss, PpoClip};

#[test]
fn the_knob_goes_straight_from_the_loss_to_the_end() {
    let loss = PolicyLoss::KlCov(KlCov::new(0.01, 0.8).unwrap());
    let value = |annealing: Annealing, share: f64| {
        annealing.knob.read(&annealing.at(&loss, share).unwrap()).unwrap()
    };
    let close = |computed: f64, expected: f64| assert!((computed - expected).abs() < 1e-15);
    close(value(Annealing::default(), 0.0), 0.8);
    close(value(Annealing::default(), 0.25), 0.6);
    close(value(Annealing::default(), 1.0), 0.0);
    close(value(Annealing { knob: Knob::Fraction, end: 0.03 }, 0.5), 0.02);
}

#[test]
fn what_cannot_move_is_refused() {
    let loss = PolicyLoss::PpoClip(PpoClip::default());
    assert!(Annealing::default().at(&loss, 0.0).is_err());
    let loss = PolicyLoss::KlCov(KlCov::default());
    assert!(Annealing { end: -1.0, ..Annealing::default() }.at(&loss, 1.0).is_err());
}
