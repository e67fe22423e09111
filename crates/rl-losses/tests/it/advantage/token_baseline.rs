//! The baseline of least variance at each place of a group's responses.

use rl_losses::{AdvantageEstimator, RolloutColumns};

/// Advantages of one group.
fn advantages(
    token_rewards: &[f64],
    squared_scores: &[f64],
    sequence_lengths: &[usize],
) -> Vec<f64> {
    let columns = RolloutColumns {
        group_sizes: &[sequence_lengths.len()],
        sequence_lengths,
        token_rewards: Some(token_rewards),
        squared_scores: Some(squared_scores),
        ..RolloutColumns::default()
    };
    AdvantageEstimator::OptimalTokenBaseline.advantages(&columns).expect("columns of one group")
}

/// Two responses of rewards 1 and 0 at their ends, of energies 1, 3 and 2: baselines of 1/3 at the first place and of 0 at the
/// second, where the first response is alone.
#[test]
fn a_response_that_moves_more_pulls_the_baseline_to_its_return() {
    let advantages = advantages(&[0.0, 1.0, 0.0], &[1.0, 2.0, 2.0], &[2, 1]);
    for (computed, expected) in std::iter::zip(advantages, [2.0 / 3.0, 1.0, -1.0 / 3.0]) {
        assert!((computed - expected).abs() < 1e-8, "{computed} {expected}");
    }
}

#[test]
fn alone_a_response_keeps_its_return() {
    assert_eq!(advantages(&[0.0, 1.0], &[1.0, 2.0], &[2]), [1.0, 1.0]);
}
