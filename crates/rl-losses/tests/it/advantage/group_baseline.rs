//! Other baselines within a group: OPO, GPG, quantile.

use rl_losses::{AdvantageEstimator, QuantileBaseline, RolloutColumns};

use super::of_samples;

#[test]
fn a_long_response_pulls_the_baseline_towards_its_reward() {
    let columns = RolloutColumns {
        rewards: &[1.0, 0.0],
        group_sizes: &[2],
        sequence_lengths: &[3, 1],
        ..RolloutColumns::default()
    };
    let advantages = AdvantageEstimator::Opo.advantages(&columns).unwrap();
    assert_eq!(advantages, [0.25, 0.25, 0.25, -0.75]);
}

#[test]
fn a_rare_success_weighs_more_in_gpg() {
    let advantages = of_samples(AdvantageEstimator::Gpg, &[1.0, 0.0, 0.0, 0.0], &[2, 2]).unwrap();
    assert_eq!(advantages, [2.0, -2.0, 0.0, 0.0]);
}

#[test]
fn a_quantile_rewards_rare_success_and_punishes_rare_failure() {
    let signs = |right: usize| {
        let rewards: Vec<f64> = (0..10).map(|i| f64::from(i < right)).collect();
        let quantile = AdvantageEstimator::Quantile(QuantileBaseline { quantile: 0.4 });
        let advantages = of_samples(quantile, &rewards, &[10]).unwrap();
        let count = |sign: f64| advantages.iter().filter(|&&a| a * sign > 0.0).count();
        (count(1.0), count(-1.0))
    };
    assert_eq!([1, 6, 7, 9].map(signs), [(1, 0), (6, 0), (0, 3), (0, 1)]);
}

/// The middle of five is the least that half of them, 2.5, do not exceed.
#[test]
fn a_quantile_is_of_the_whole_group() {
    let rewards = [4.0, 0.0, 3.0, 1.0, 2.0];
    let median = AdvantageEstimator::Quantile(QuantileBaseline { quantile: 0.5 });
    let advantages = of_samples(median, &rewards, &[5]).unwrap();
    for (advantage, reward) in std::iter::zip(advantages, rewards) {
        let expected = (reward - 2.0) / (2.5f64.sqrt() + 1e-6);
        assert!((advantage - expected).abs() < 1e-14, "{advantage} {expected}");
    }
}

#[test]
fn a_level_outside_the_unit_interval_is_refused() {
    let nowhere = AdvantageEstimator::Quantile(QuantileBaseline { quantile: f64::NAN });
    let error = of_samples(nowhere, &[], &[]).unwrap_err();
    assert_eq!(error.to_string(), "`quantile` is NaN, expected a number within 0..=1");
}
