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
