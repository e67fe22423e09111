//! The loss of an implicit reward model: recorded in many digits, differentiated, split.

mod agreement;

use insta::assert_snapshot;
use proptest::prelude::*;
use rl_losses::{OutcomeLoss, outcome_agreement, outcome_cross_entropy};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    beta: String,
    lengths: Vec<usize>,
    outcomes: Vec<u8>,
    log_ratio: Vec<String>,
    value: String,
    gradient: Vec<String>,
}

fn number(digits: &str) -> f64 {
    digits.parse().expect("a decimal number")
}

fn assert_close(found: f64, expected: f64, what: &str) {
    assert!((found - expected).abs() <= 1e-14 * expected.abs(), "{what}: {found} {expected}");
}

#[test]
fn value_and_gradient_are_those_of_the_formula_in_many_digits() {
    let text = include_str!("../data/outcome_loss.json");
    let cases: Vec<Case> = serde_json::from_str(text).unwrap();
    assert_eq!(cases.len(), 4);
    for (index, case) in cases.iter().enumerate() {
        let log_ratio: Vec<f64> = case.log_ratio.iter().map(|digits| number(digits)).collect();
        let outcomes: Vec<bool> = case.outcomes.iter().map(|&outcome| outcome == 1).collect();
        let beta = number(&case.beta);
        let samples = case.lengths.len();
        let loss =
            outcome_cross_entropy(&log_ratio, &outcomes, &case.lengths, beta, samples).unwrap();
        assert_close(loss.value, number(&case.value), &format!("case {index}"));
        for (token, (computed, expected)) in
            std::iter::zip(loss.grad_log_prob, &case.gradient).enumerate()
        {
            assert_close(computed, number(expected), &format!("case {index}, token {token}"));
        }
    }
}

/// Log-ratios of each response, and whether it is right.
fn responses() -> impl Strategy<Value = Vec<(Vec<f64>, bool)>> {
    prop::collection::vec((prop::collection::vec(-4.0..4.0f64, 0..5), any::<bool>()), 1..8)
}

fn loss(responses: &[(Vec<f64>, bool)], beta: f64, of: usize) -> OutcomeLoss {
    let log_ratio: Vec<f64> = responses.iter().flat_map(|(tokens, _)| tokens.clone()).collect();
    let outcomes: Vec<bool> = responses.iter().map(|&(_, right)| right).collect();
    let lengths: Vec<usize> = responses.iter().map(|(tokens, _)| tokens.len()).collect();
    outcome_cross_entropy(&log_ratio, &outcomes, &lengths, beta, of).expect("finite log-ratios")
}

proptest! {
    #[test]
    fn the_gradient_is_the_central_difference(responses in responses(), beta in 0.01..2.0f64) {
        const STEP: f64 = 1e-5;
        let n = responses.len();
        let mut gradient = loss(&responses, beta, n).grad_log_prob.into_iter();
        for response in 0..n {
            for token in 0..responses[response].0.len() {
                let shifted = |step: f64| {
                    let mut moved = responses.clone();
                    moved[response].0[token] += step;
                    loss(&moved, beta, n).value
                };
                let numeric = (shifted(STEP) - shifted(-STEP)) / (2.0 * STEP);
                let slope = gradient.next().expect("one a token");
                prop_assert!((slope - numeric).abs() < 1e-8, "{slope} {numeric}");
            }
        }
    }

    #[test]
    fn parts_add_up_to_the_whole(responses in responses(), cut in any::<prop::sample::Index>()) {
        let n = responses.len();
        let unsplit = loss(&responses, 0.3, n);
        let (first, second) = responses.split_at(cut.index(n));
        let parts = [loss(first, 0.3, n), loss(second, 0.3, n)];
        prop_assert!((parts[0].value + parts[1].value - unsplit.value).abs() < 1e-14);
        let [first, second] = parts;
        prop_assert_eq!([first.grad_log_prob, second.grad_log_prob].concat(), unsplit.grad_log_prob);
        prop_assert_eq!([first.rewards, second.rewards].concat(), unsplit.rewards);
    }

    /// A step down the gradient lowers the loss unless nothing can.
    #[test]
    fn the_gradient_descends(responses in responses()) {
        let n = responses.len();
        let before = loss(&responses, 0.5, n);
        let norm: f64 = before.grad_log_prob.iter().map(|g| g * g).sum();
        let mut slopes = before.grad_log_prob.iter();
        let mut moved = responses.clone();
        for (tokens, _) in &mut moved {
            for token in tokens {
                *token -= 1e-3 * slopes.next().expect("one a token");
            }
        }
        let after = loss(&moved, 0.5, n).value;
        prop_assert!(after <= before.value - 0.5e-3 * norm + 1e-15, "{after} {}", before.value);
    }

    #[test]
    fn nothing_a_caller_passes_makes_it_panic(
        log_ratio in prop::collection::vec(any::<f64>(), 0..8),
        outcomes in prop::collection::vec(any::<bool>(), 0..5),
        sizes in prop::collection::vec(0usize..4, 0..5),
        beta in any::<f64>(),
        responses in 0usize..3,
    ) {
        let _loss = outcome_cross_entropy(&log_ratio, &outcomes, &sizes, beta, responses);
        let _agreement = outcome_agreement(&log_ratio, &outcomes, &sizes);
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let loss = |log_ratio: &[f64], outcomes: &[bool], lengths: &[usize], beta| {
        outcome_cross_entropy(log_ratio, outcomes, lengths, beta, 1).unwrap_err().to_string()
    };
    let agreement = |rewards: &[f64], outcomes: &[bool], groups: &[usize]| {
        outcome_agreement(rewards, outcomes, groups).unwrap_err().to_string()
    };
    let messages = [
        loss(&[0.0], &[true], &[1], -0.05),
        loss(&[0.0], &[true], &[1], f64::NAN),
        loss(&[0.0, f64::NAN], &[true], &[2], 0.05),
        loss(&[0.0], &[true], &[2], 0.05),
        loss(&[0.0], &[], &[1], 0.05),
        agreement(&[f64::INFINITY], &[true], &[1]),
        agreement(&[1.0], &[true, false], &[1]),
        agreement(&[1.0], &[true], &[2]),
    ];
    assert_snapshot!(messages.join("\n"));
}

/// One step's responses of two prompts.
#[test]
fn a_small_batch() {
    let log_ratio = [0.2, -0.1, 0.4, 0.0, 0.3, -0.3, 0.1];
    let (outcomes, lengths) = ([true, false, false, true], [2, 1, 3, 1]);
    let loss = outcome_cross_entropy(&log_ratio, &outcomes, &lengths, 0.5, 4).unwrap();
    let agreement = outcome_agreement(&loss.rewards, &outcomes, &[2, 2]).unwrap();
    let line = |values: &[f64]| {
        values.iter().map(|value| format!("{value:+.12}")).collect::<Vec<_>>().join(" ")
    };
    assert_snapshot!(format!(
        "value    {:+.12}\ngradient {}\nrewards  {}\naccuracy {} pairs {}",
        loss.value,
        line(&loss.grad_log_prob),
        line(&loss.rewards),
        agreement.accuracy(),
        agreement.pair_accuracy()
    ));
}
