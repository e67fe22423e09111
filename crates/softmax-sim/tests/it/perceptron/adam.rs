//! The Adam optimiser.

use softmax_sim::perceptron::Adam;

#[test]
fn steps_follow_the_published_algorithm() {
    let (mut adam, mut parameters) = (Adam::new(2), [1.0, -1.0]);
    adam.step(0.1, &[0.5, -2.0], &mut parameters);
    // The first step of every parameter is the learning rate, but for ε.
    assert!((parameters[0] - (1.0 - 0.1 * 0.5 / (0.5 + 1e-5))).abs() < 1e-15);
    assert!((parameters[1] - (-1.0 + 0.1 * 2.0 / (2.0 + 1e-5))).abs() < 1e-15);
    adam.step(0.1, &[-0.5, -2.0], &mut parameters);
    // m = 0.9·0.05 - 0.05, v = 0.999·0.00025 + 0.00025, by hand.
    let mean = -0.005 / (1.0 - 0.81);
    let square: f64 = 0.000_499_75 / (1.0 - 0.998_001);
    let expected = 1.0 - 0.1 * 0.5 / (0.5 + 1e-5) - 0.1 * mean / (square.sqrt() + 1e-5);
    assert!((parameters[0] - expected).abs() < 1e-13, "{}", parameters[0]);
}
