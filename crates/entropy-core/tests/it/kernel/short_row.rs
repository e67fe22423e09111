//! Softmax of rows so short that choosing instructions for each would cost more than the row.

use entropy_core::Categorical;
use entropy_core::kernel::short_row::log_softmax_in_place;

#[test]
fn a_short_row_is_what_the_policy_of_the_logits_is() {
    for actions in 1..20 {
        let logits: Vec<f64> =
            (0..actions).map(|a| f64::from((a * 7919 + actions) % 23) - 11.0).collect();
        let policy = Categorical::from_logits(&logits).unwrap();
        let (mut log_probs, mut probs) = (logits.clone(), vec![0.0; logits.len()]);
        let entropy = log_softmax_in_place(&mut log_probs, &mut probs);
        let near =
            |found: f64, expected: f64| (found - expected).abs() <= 4e-15 * expected.abs().max(1.0);
        assert!(near(entropy, policy.entropy()), "{entropy} for {logits:?}");
        for a in 0..logits.len() {
            assert!(near(log_probs[a], policy.log_probs()[a]), "action {a} of {logits:?}");
            assert!(near(probs[a], policy.probs()[a]), "action {a} of {logits:?}");
        }
    }
}

#[test]
fn logits_of_any_size_do_not_overflow() {
    let (mut row, mut probs) = ([700.0, -700.0, 699.0], [0.0; 3]);
    let entropy = log_softmax_in_place(&mut row, &mut probs);
    let expected = Categorical::from_logits(&[1.0, 0.0]).unwrap().entropy();
    assert!((entropy - expected).abs() < 1e-15 && probs[1] == 0.0);
}

#[test]
fn nothing_is_no_number() {
    assert!(!log_softmax_in_place(&mut [], &mut []).is_finite());
    assert!(!log_softmax_in_place(&mut [f64::INFINITY, 0.0], &mut [0.0; 2]).is_finite());
}
