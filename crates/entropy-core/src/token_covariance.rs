//! The covariance of single tokens, by which Clip-Cov and KL-Cov select.

use crate::summation::mean;

/// Centred product of advantage and log-probability, one value per token, in nat·reward.
///
/// ```text
/// cov_t = (A_t - mean A) · (log π(y_t) - mean log π(y))
/// ```
///
/// Both means run over exactly the tokens passed in: pass the mini-batch, never a micro-batch. The
/// mean of the result is the covariance over the batch (divided by the number of tokens, not one
/// fewer).
///
/// Source: arXiv:2505.22617, Eq. 10; derivation in `docs/theory.md#token-covariance`.
///
/// # Panics
///
/// If the two slices, both `[tokens]`, differ in length.
pub fn token_covariances(advantage: &[f64], log_prob: &[f64]) -> Vec<f64> {
    assert!(
        advantage.len() == log_prob.len(),
        "{} advantages for {} log-probabilities: expected one of each per token",
        advantage.len(),
        log_prob.len()
    );
    let (mean_advantage, mean_log_prob) = (mean(advantage), mean(log_prob));
    std::iter::zip(advantage, log_prob)
        .map(|(advantage, log_prob)| (advantage - mean_advantage) * (log_prob - mean_log_prob))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_tokens_have_no_covariances() {
        assert!(token_covariances(&[], &[]).is_empty());
    }

    #[test]
    #[should_panic(expected = "2 advantages for 1 log-probabilities")]
    fn columns_of_different_length_are_the_callers_bug() {
        token_covariances(&[1.0, 2.0], &[0.0]);
    }
}
