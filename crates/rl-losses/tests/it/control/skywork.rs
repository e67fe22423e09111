//! An entropy coefficient that takes fixed steps towards a target: Skywork-OR1.

use rl_losses::{AdaptiveEntropy, AdaptiveEntropyController};

#[test]
fn the_coefficient_climbs_below_the_target_and_rests_above_it() {
    let settings = AdaptiveEntropy { target: 0.2, step: 1.0, maximum: 2.5, initial: 0.0 };
    let mut controller = AdaptiveEntropyController::new(settings).unwrap();
    // The weight falls to 0 and no further while it is not used.
    let coefficients: Vec<f64> = [0.1, 0.1, 0.1, 0.3, 0.1, 0.3, 0.3, 0.3, 0.3, 0.1]
        .iter()
        .map(|&entropy| {
            controller.update(entropy).unwrap();
            controller.coefficient()
        })
        .collect();
    assert_eq!(coefficients, [1.0, 2.0, 2.5, 0.0, 2.5, 0.0, 0.0, 0.0, 0.0, 1.0]);
}

#[test]
fn an_entropy_at_the_target_has_reached_it() {
    let settings = AdaptiveEntropy { target: 0.25, step: 1.0, maximum: 3.0, initial: 2.0 };
    let mut controller = AdaptiveEntropyController::new(settings).unwrap();
    controller.update(0.25).unwrap();
    assert_eq!(controller.coefficient().to_bits(), 0.0f64.to_bits());
}
