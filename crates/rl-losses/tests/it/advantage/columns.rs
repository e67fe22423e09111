//! Columns that an estimator may read, and how they are checked.

use rl_losses::{RolloutColumns, broadcast_to_tokens};

#[test]
fn a_sequence_without_tokens_gets_no_advantage() {
    assert_eq!(broadcast_to_tokens(&[1.0, 2.0, 3.0], &[2, 0, 1]), [1.0, 1.0, 3.0]);
}

#[test]
fn an_outcome_stands_at_the_last_token() {
    let columns = RolloutColumns {
        rewards: &[1.0, 2.0, 3.0],
        sequence_lengths: &[2, 0, 1],
        ..RolloutColumns::default()
    };
    assert_eq!(columns.token_rewards(), Ok(vec![0.0, 1.0, 3.0]));
}

#[test]
fn a_bad_column_is_located() {
    let columns = RolloutColumns { sequence_lengths: &[2], ..RolloutColumns::default() };
    let short = RolloutColumns { token_rewards: Some(&[0.0]), ..columns };
    let error = short.token_rewards().unwrap_err();
    assert_eq!(error.to_string(), "column `token_rewards` has 1 tokens, expected 2");
    let infinite = RolloutColumns { token_rewards: Some(&[0.0, f64::INFINITY]), ..columns };
    let error = infinite.token_rewards().unwrap_err();
    assert_eq!(error.to_string(), "`token_rewards` is inf at token 1, expected a finite number");
}
