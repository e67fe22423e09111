//! The entropy bonus, as a value and a gradient.

use rl_losses::entropy_bonus;

#[test]
fn more_entropy_lowers_the_loss() {
    let (value, gradient) = entropy_bonus(0.01, &[2.0, 1.0], &[0.5, 0.25]);
    assert!((value + 0.01 * 1.25).abs() < 1e-17);
    assert_eq!(gradient, [-0.005, -0.0025]);
}
