//! The entropy a controller aims at.

use rl_losses::EntropyTarget;

#[test]
fn a_trajectory_is_geometric_and_then_constant() {
    let target = EntropyTarget { start: 0.8, end: 0.2, steps: 100 };
    for (step, expected) in [(0, 0.8), (50, 0.4), (100, 0.2), (1_000_000, 0.2)] {
        assert!((target.at(step) - expected).abs() < 1e-15, "{step}");
    }
    assert!((EntropyTarget::constant(0.3).at(0) - 0.3).abs() < f64::EPSILON);
}
