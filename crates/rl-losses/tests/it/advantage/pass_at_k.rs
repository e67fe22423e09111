//! Advantages for groups of attempts of which one has to be right.

use rl_losses::{AdvantageError, AdvantageEstimator, PassAtK};

use super::of_samples;

fn pass_at_k(rewards: &[f64], group_sizes: &[usize], k: usize) -> Result<Vec<f64>, AdvantageError> {
    of_samples(AdvantageEstimator::PassAtK(PassAtK { k }), rewards, group_sizes)
}

/// The definition: every set of `k`, one by one.
fn by_enumeration(rewards: &[f64], k: usize) -> Vec<f64> {
    let samples = rewards.len();
    let sets: Vec<u32> =
        (0u32..1 << samples).filter(|set| set.count_ones() as usize == k).collect();
    let has = |set: u32, sample: usize| set >> sample & 1 == 1;
    let right = |set: u32| f64::from((0..samples).any(|i| has(set, i) && rewards[i] > 0.0));
    let mean = sets.iter().map(|&set| right(set)).sum::<f64>() / sets.len() as f64;
    let deviation = (mean * (1.0 - mean)).sqrt();
    (0..samples)
        .map(|sample| {
            let outcomes: Vec<f64> =
                sets.iter().filter(|&&set| has(set, sample)).map(|&set| right(set)).collect();
            (outcomes.iter().sum::<f64>() / outcomes.len() as f64 - mean) / deviation
        })
        .collect()
}

#[test]
fn the_closed_form_is_the_mean_over_all_sets() {
    for (rewards, k) in [
        (vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 1),
        (vec![1.0, 0.0, 0.0, 0.0, 0.0, 0.0], 3),
        (vec![0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0], 4),
        (vec![0.0, 1.0, 1.0, 0.0], 2),
    ] {
        let advantages = pass_at_k(&rewards, &[rewards.len()], k).unwrap();
        for (actual, expected) in std::iter::zip(advantages, by_enumeration(&rewards, k)) {
            assert!((actual - expected).abs() < 1e-12, "k = {k}: {actual} {expected}");
        }
    }
}

#[test]
fn where_every_set_is_right_there_is_nothing_to_learn() {
    let advantages = pass_at_k(&[1.0, 1.0, 0.0, 0.0, 0.0, 0.0], &[3, 3], 2);
    assert_eq!(advantages.unwrap(), [0.0; 6]);
}

#[test]
fn the_best_must_be_alone() {
    let best = |rewards: &[f64]| {
        of_samples(AdvantageEstimator::GrpoPassk, rewards, &[rewards.len()]).unwrap()
    };
    let close = |advantages: Vec<f64>, expected: [f64; 3]| {
        std::iter::zip(advantages, expected).all(|(a, e)| (a - e).abs() < 1e-14)
    };
    // One above the second best, over the deviation of the three.
    let lead = 1.0 / ((7.0f64 / 12.0).sqrt() + 1e-6);
    assert!(close(best(&[0.5, 2.0, 1.0]), [0.0, lead, 0.0]));
    assert!(close(best(&[2.0, 0.5, 1.0]), [lead, 0.0, 0.0]));
    assert_eq!(best(&[2.0, 0.5, 2.0]), [0.0; 3]);
}

#[test]
fn a_group_that_is_too_small_is_named() {
    let error = pass_at_k(&[1.0; 5], &[3, 2], 3).unwrap_err();
    assert_eq!(error.to_string(), "group 1 has 2 samples, expected at least 3");
    let error = pass_at_k(&[0.5; 3], &[3], 3).unwrap_err();
    assert_eq!(error.to_string(), "`rewards` is 0.5 at sample 0, expected 0 or 1");
}
