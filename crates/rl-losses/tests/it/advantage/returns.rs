//! Rewards summed from a token to the end of its sequence: REINFORCE, REINFORCE++, `ReMax`.

use rl_losses::{AdvantageError, AdvantageEstimator, Reinforce, ReturnBaseline, RolloutColumns};

/// Returns of a sequence of two tokens and one of one, less a baseline.
fn returns(
    token_rewards: &[f64],
    end_values: Option<&[f64]>,
    settings: Reinforce,
) -> Result<Vec<f64>, AdvantageError> {
    AdvantageEstimator::Reinforce(settings).advantages(&RolloutColumns {
        sequence_lengths: &[2, 1],
        token_rewards: Some(token_rewards),
        end_values,
        ..RolloutColumns::default()
    })
}

fn discounted(discount: f64) -> Reinforce {
    Reinforce { discount, ..Reinforce::default() }
}

#[test]
fn a_return_stops_at_the_end_of_its_sequence() {
    let returns = returns(&[1.0, 2.0, 4.0], None, discounted(0.5)).unwrap();
    assert_eq!(returns, [2.0, 2.0, 4.0]);
}

#[test]
fn a_sequence_that_was_cut_off_goes_on_with_the_value_of_its_last_state() {
    let ends = [8.0, 0.0];
    let returns = returns(&[1.0, 2.0, 4.0], Some(&ends), discounted(0.5)).unwrap();
    assert_eq!(returns, [4.0, 6.0, 4.0]);
}

#[test]
fn a_batch_mean_leaves_returns_of_mean_zero() {
    let settings = Reinforce { baseline: ReturnBaseline::BatchMean, ..Reinforce::default() };
    let advantages = returns(&[0.0, 3.0, 1.0], None, settings).unwrap();
    assert!(advantages.iter().sum::<f64>().abs() < 1e-15);
    assert!((advantages[0] - advantages[2] - 2.0).abs() < 1e-15);
}

#[test]
fn a_discount_above_one_is_refused() {
    let error = returns(&[0.0; 3], None, discounted(1.5)).unwrap_err();
    assert_eq!(error.to_string(), "`discount` is 1.5, expected a number within 0..=1");
}
