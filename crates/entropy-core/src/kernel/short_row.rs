//! Softmax of rows so short that choosing instructions for each would cost more than the row.

/// Turns finite logits into log-probabilities, in place, and writes the probabilities; returns the entropy. Both rows
/// are `[actions]`, all in nats.
///
/// Anchored at the mode and scalar: what [`row`](super::row) gives, to rounding, in a third of the time for eight actions.
/// It checks nothing: an infinite logit, or no logit at all, gives an entropy that is no number.
///
/// ```
/// use entropy_core::kernel::short_row;
///
/// let (mut row, mut probs) = ([0.0, 0.0], [0.0; 2]);
/// let entropy = short_row::log_softmax_in_place(&mut row, &mut probs);
/// assert_eq!((probs, entropy), ([0.5; 2], 2f64.ln()));
/// assert_eq!(row, [-entropy; 2]);
/// ```
///
/// # Panics
///
/// If the two differ in length.
#[inline]
pub fn log_softmax_in_place(logits: &mut [f64], probs: &mut [f64]) -> f64 {
    assert_eq!(logits.len(), probs.len(), "one probability per logit");
    let highest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut total, mut weighted_gaps) = (0.0, 0.0);
    for (logit, prob) in std::iter::zip(logits.iter_mut(), probs.iter_mut()) {
        *logit -= highest;
        *prob = logit.exp();
        total += *prob;
        weighted_gaps -= *logit * *prob;
    }
    let (log_total, share) = (total.ln(), total.recip());
    for (logit, prob) in std::iter::zip(logits, probs) {
        *logit -= log_total;
        *prob *= share;
    }
    log_total + weighted_gaps * share
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Categorical;

    #[test]
    fn a_short_row_is_what_the_policy_of_the_logits_is() {
        for actions in 1..20 {
            let logits: Vec<f64> =
                (0..actions).map(|a| f64::from((a * 7919 + actions) % 23) - 11.0).collect();
            let policy = Categorical::from_logits(&logits).unwrap();
            let (mut log_probs, mut probs) = (logits.clone(), vec![0.0; logits.len()]);
            let entropy = log_softmax_in_place(&mut log_probs, &mut probs);
            let near = |found: f64, expected: f64| {
                (found - expected).abs() <= 4e-15 * expected.abs().max(1.0)
            };
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
}
