//! The view every loss reads.

use rl_losses::{TokenBatch, TokenColumns};

const COLUMN: [f64; 4] = [-1.0, -2.0, -3.0, -4.0];

fn columns(advantage: &[f64]) -> TokenColumns<'_> {
    TokenColumns { log_prob: &COLUMN, old_log_prob: &COLUMN, advantage }
}

#[test]
fn a_short_column_is_named() {
    let error = TokenBatch::new(columns(&[1.0; 3]), &[4]).unwrap_err();
    assert_eq!(error.to_string(), "column `advantage` has 3 tokens, `log_prob` has 4");
}

#[test]
fn sequence_lengths_must_cover_the_tokens() {
    let error = TokenBatch::new(columns(&COLUMN), &[1, 2]).unwrap_err();
    assert_eq!(error.to_string(), "column `sequence_lengths` has 3 tokens, `log_prob` has 4");
}

#[test]
fn a_value_that_is_not_finite_is_located() {
    let advantage = [0.0, 1.0, f64::NAN, 0.0];
    let error = TokenBatch::new(columns(&advantage), &[4]).unwrap_err();
    assert_eq!(error.to_string(), "column `advantage` is NaN at token 2, expected a finite number");
}

#[test]
fn a_part_cuts_the_sequences_at_its_ends() {
    let lengths = [1, 0, 3];
    let batch = TokenBatch::new(columns(&COLUMN), &lengths).unwrap();
    assert_eq!(batch.token_range(1..3), 1..4);
    let part = batch.part(0..3);
    assert_eq!(part.sequence_lengths(), [1, 2]);
    assert_eq!(part.part(1..2).log_prob(), [-2.0]);
}
