//! Loss and agreement of an outcome reward model on rewards by hand.

use rl_losses::{OutcomeAgreement, outcome_agreement, outcome_cross_entropy};

#[test]
fn a_model_that_is_its_reference_knows_nothing() {
    let loss = outcome_cross_entropy(&[0.0; 3], &[true, false], &[2, 1], 0.05, 2).unwrap();
    assert!((loss.value - 2.0_f64.ln()).abs() < 1e-15);
    assert_eq!(loss.grad_log_prob, [-0.0125, -0.0125, 0.0125]);
    let agreement = outcome_agreement(&loss.rewards, &[true, false], &[2]).unwrap();
    assert!((agreement.accuracy() - 0.5).abs() <= 0.0);
    assert!((agreement.pair_accuracy() - 0.5).abs() <= 0.0);
}

#[test]
fn far_rewards_neither_overflow_nor_round_to_nothing() {
    let loss_and_slope = |log_ratio: f64, right: bool| {
        let loss = outcome_cross_entropy(&[log_ratio], &[right], &[1], 1.0, 1).unwrap();
        (loss.value, loss.grad_log_prob[0])
    };
    assert_eq!(loss_and_slope(1e6, false), (1e6, 1.0));
    assert_eq!(loss_and_slope(-1e6, true), (1e6, -1.0));
    let (value, slope) = loss_and_slope(50.0, true);
    let expected = (-50.0_f64).exp();
    assert!((value / expected - 1.0).abs() < 1e-12, "{value}");
    assert!((slope / -expected - 1.0).abs() < 1e-12, "{slope}");
}

#[test]
fn agreement_counts_signs_pairs_and_ties() {
    let rewards = [0.5, -0.5, 0.5, 0.0, 2.0, 1.0];
    let outcomes = [true, false, false, true, false, true];
    let agreement = outcome_agreement(&rewards, &outcomes, &[4, 2]).unwrap();
    // Right: 0.5 agrees, 0.0 half, 1.0 agrees; wrong: -0.5 agrees.
    // Pairs: 0.5 over -0.5, equal to 0.5; 0.0 over -0.5, under 0.5; 1.0 under 2.0.
    let expected = OutcomeAgreement { responses: 6, agreeing: 3.5, pairs: 5, ordered: 2.5 };
    assert_eq!(agreement, expected);
}

#[test]
fn an_order_is_none_without_both_outcomes() {
    let agreement = outcome_agreement(&[1.0, 2.0], &[true, true], &[2]).unwrap();
    assert!((agreement.accuracy() - 1.0).abs() <= 0.0 && agreement.pair_accuracy().is_nan());
}
