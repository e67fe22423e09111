//! Advantage estimators one by one, on rewards by hand.

mod catalogue;
mod columns;
mod generalised;
mod group_baseline;
mod implicit_reward;
mod pass_at_k;
mod returns;
mod token_baseline;
mod whitening;

use rl_losses::{AdvantageError, AdvantageEstimator, RolloutColumns};

/// Advantages of samples of one token each.
fn of_samples(
    estimator: AdvantageEstimator,
    rewards: &[f64],
    group_sizes: &[usize],
) -> Result<Vec<f64>, AdvantageError> {
    let sequence_lengths = vec![1; rewards.len()];
    estimator.advantages(&RolloutColumns {
        rewards,
        group_sizes,
        sequence_lengths: &sequence_lengths,
        ..RolloutColumns::default()
    })
}
