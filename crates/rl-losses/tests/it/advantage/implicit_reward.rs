//! PRIME: dense rewards from an implicit process reward model.

use rl_losses::{
    AdvantageError, AdvantageEstimator, Prime, ProcessBaseline, ProcessScale, RolloutColumns,
};

const LOG_RATIO: [f64; 5] = [1.0, 3.0, -1.0, 0.0, 2.0];

/// Advantages of one group.
fn prime_advantages(
    rewards: &[f64],
    process_log_ratio: &[f64],
    sequence_lengths: &[usize],
    settings: Prime,
) -> Result<Vec<f64>, AdvantageError> {
    AdvantageEstimator::Prime(settings).advantages(&RolloutColumns {
        rewards,
        group_sizes: &[rewards.len()],
        sequence_lengths,
        process_log_ratio: Some(process_log_ratio),
        ..RolloutColumns::default()
    })
}

fn process_only(baseline: ProcessBaseline) -> Vec<f64> {
    let settings = Prime {
        beta: 1.0,
        process_coefficient: 1.0,
        outcome_coefficient: 0.0,
        baseline,
        whiten: false,
        ..Prime::default()
    };
    prime_advantages(&[0.0; 2], &LOG_RATIO, &[2, 3], settings).expect("the columns fit")
}

#[test]
fn each_process_reward_is_compared_with_the_others_mean() {
    // Means 2 and 1/3: the first sample is compared with 1/3, the second with 2.
    let expected = [10.0 / 3.0, 8.0 / 3.0, -5.0, -2.0, 0.0];
    for (actual, expected) in std::iter::zip(process_only(ProcessBaseline::Others), expected) {
        assert!((actual - expected).abs() < 1e-14, "{actual} {expected}");
    }
}

#[test]
fn the_two_baselines_agree_in_the_sum_over_a_sample() {
    let (paper, code) =
        (process_only(ProcessBaseline::Others), process_only(ProcessBaseline::Scaled));
    for first in [0, 2] {
        assert!((paper[first] - code[first]).abs() < 1e-14);
    }
    assert!((paper[1] - code[1]).abs() > 0.5, "not token by token");
}

/// Rewards of -2 and -1 in units of the larger magnitude: -1 against -½.
#[test]
fn the_largest_return_is_the_largest_in_magnitude() {
    let settings = Prime {
        beta: 1.0,
        scale: ProcessScale::LargestReturn,
        process_coefficient: 1.0,
        outcome_coefficient: 0.0,
        whiten: false,
        ..Prime::default()
    };
    let advantages = prime_advantages(&[0.0; 2], &[-2.0, -1.0], &[1, 1], settings).unwrap();
    for (advantage, expected) in std::iter::zip(advantages, [-0.5, 0.5]) {
        assert!((advantage - expected).abs() < 1e-6, "{advantage} {expected}");
    }
}

#[test]
fn without_process_rewards_it_is_leave_one_out() {
    let settings = Prime { whiten: false, ..Prime::default() };
    let advantages = prime_advantages(&[1.0, 0.0], &[0.0; 3], &[2, 1], settings).unwrap();
    assert_eq!(advantages, [5.0, 5.0, -5.0]);
}

/// Returns of the first sample: 4 and 3, of the second: 1, 2, 2.
#[test]
fn the_largest_return_of_the_batch_can_be_the_unit() {
    let advantages = |beta: f64, scale: ProcessScale| {
        let settings =
            Prime { beta, scale, process_coefficient: 1.0, whiten: false, ..Prime::default() };
        prime_advantages(&[0.0; 2], &LOG_RATIO, &[2, 3], settings).expect("the columns fit")
    };
    let plain = advantages(1.0, ProcessScale::None);
    for beta in [1.0, 0.05] {
        let scaled = advantages(beta, ProcessScale::LargestReturn);
        for (actual, expected) in std::iter::zip(scaled, &plain) {
            assert!((actual - expected / 4.0).abs() < 1e-4, "{beta}: {actual} {expected}");
        }
    }
}

#[test]
fn a_lone_sample_is_refused() {
    let result = prime_advantages(&[1.0], &[0.0], &[1], Prime::default());
    assert_eq!(result.unwrap_err().to_string(), "group 0 has 1 samples, expected at least 2");
}
