//! How per-token terms become one number: a weight per token.

use rl_losses::{Aggregation, Divisor};

use crate::batches::token_weights;

#[test]
fn weights_follow_their_definition_and_skip_empty_sequences() {
    let lengths = [1, 0, 3];
    let weights = |rule: Aggregation| token_weights(&rule, &lengths);
    let divisor = Divisor::try_from(10.0).unwrap();
    assert_eq!(weights(Aggregation::TokenMean), [0.25; 4]);
    assert_eq!(weights(Aggregation::SeqMeanTokenSum), [0.5; 4]);
    assert_eq!(weights(Aggregation::SeqMeanTokenSumNorm { divisor }), [0.05; 4]);
    let sixth = 1.0 / 6.0;
    assert_eq!(weights(Aggregation::SeqMeanTokenMean), [0.5, sixth, sixth, sixth]);
}

#[test]
fn no_tokens_have_no_weights() {
    assert!(token_weights(&Aggregation::TokenMean, &[0, 0]).is_empty());
}

#[test]
fn a_divisor_of_zero_is_refused() {
    let error = Divisor::try_from(0.0).unwrap_err();
    assert_eq!(error.to_string(), "`divisor` is 0, expected a finite number above 0");
}
