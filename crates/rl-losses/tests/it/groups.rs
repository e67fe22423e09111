//! Groups of samples, and which of them a policy gradient can learn from.

use rl_losses::informative_groups;

#[test]
fn equal_rewards_teach_nothing_even_where_their_deviation_rounds_above_zero() {
    // The mean of three times 0.1 is not 0.1 in f64.
    let rewards = [0.1, 0.1, 0.1, 0.0, 1.0, 1.0];
    assert_eq!(informative_groups(&rewards, &[3, 2, 1]), [false, true, true]);
}
