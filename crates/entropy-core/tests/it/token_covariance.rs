//! The covariance of single tokens, by which Clip-Cov and KL-Cov select, in both centrings.

use entropy_core::{state_token_covariances, token_covariances};

#[test]
fn no_tokens_have_no_covariances() {
    assert!(token_covariances(&[], &[]).is_empty());
}

#[test]
fn state_centring_measures_each_token_from_its_own_entropy() {
    let covariances = state_token_covariances(&[1.0, -2.0], &[-0.5, -3.0], &[0.25, 1.0]);
    assert_eq!(covariances, [-0.25, 4.0]);
}

#[test]
#[should_panic(expected = "2 advantages for 1 log-probabilities")]
fn columns_of_different_length_are_the_callers_bug() {
    token_covariances(&[1.0, 2.0], &[0.0]);
}
