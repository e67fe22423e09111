//! Rewards summed from a token to the end of its sequence: REINFORCE, REINFORCE++, `ReMax`.

use rl_losses::{Reinforce, ReturnBaseline, discounted_returns, reinforce_advantages};

#[test]
fn a_return_stops_at_the_end_of_its_sequence() {
    let returns = discounted_returns(&[1.0, 2.0, 4.0], None, &[2, 1], 0.5).unwrap();
    assert_eq!(returns, [2.0, 2.0, 4.0]);
}

#[test]
fn a_sequence_that_was_cut_off_goes_on_with_the_value_of_its_last_state() {
    let ends = [8.0, 0.0];
    let returns = discounted_returns(&[1.0, 2.0, 4.0], Some(&ends), &[2, 1], 0.5).unwrap();
    assert_eq!(returns, [4.0, 6.0, 4.0]);
}

#[test]
fn a_batch_mean_leaves_returns_of_mean_zero() {
    let settings = Reinforce { baseline: ReturnBaseline::BatchMean, ..Reinforce::default() };
    let advantages = reinforce_advantages(&[0.0, 3.0, 1.0], None, &[2, 1], settings).unwrap();
    assert!(advantages.iter().sum::<f64>().abs() < 1e-15);
    assert!((advantages[0] - advantages[2] - 2.0).abs() < 1e-15);
}

#[test]
fn a_discount_above_one_is_refused() {
    let error = discounted_returns(&[], None, &[], 1.5).unwrap_err();
    assert_eq!(error.to_string(), "`discount` is 1.5, expected a number within 0..=1");
}
