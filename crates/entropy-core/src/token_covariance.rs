//! The covariance of single tokens, by which Clip-Cov and KL-Cov select, in both centrings.

use crate::summation::mean;

/// Centre of token covariances: the means over a batch, on all ranks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenCentre {
    /// Mean advantage.
    pub advantage: f64,
    /// Mean log-probability, in nats.
    pub log_prob: f64,
}

impl TokenCentre {
    /// Centred product of one token, `(A_t - mean A) · (log π(y_t) - mean log π(y))`, in nat·reward.
    #[inline]
    pub fn covariance(self, advantage: f64, log_prob: f64) -> f64 {
        (advantage - self.advantage) * (log_prob - self.log_prob)
    }
}

/// Product of one token centred on its own state, `A (log π + H)`, in nat·reward: `-H` is the mean of
/// `log π` there, and an advantage has mean 0.
///
/// Source: arXiv:2505.22617, Theorem 2, one term of its expectation.
#[inline]
pub fn state_token_covariance(advantage: f64, log_prob: f64, entropy: f64) -> f64 {
    advantage * (log_prob + entropy)
}

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
    let centre = TokenCentre { advantage: mean(advantage), log_prob: mean(log_prob) };
    std::iter::zip(advantage, log_prob)
        .map(|(&advantage, &log_prob)| centre.covariance(advantage, log_prob))
        .collect()
}

/// Covariance of each token centred in its own state, in nat·reward:
/// `cov_t = A_t · (log π(y_t) + H_t)`, with `H_t` the entropy of the policy the token was drawn from.
///
/// The theory's centring: for an advantage of mean 0 in every state, its mean over on-policy tokens
/// is the within-state covariance of Theorem 2, of any batch and without bias. The batch centring of
/// [`token_covariances`] mixes differences between states in. Derivation:
/// `docs/theory.md#state-centring`.
///
/// # Panics
///
/// If the slices, all `[tokens]`, differ in length.
pub fn state_token_covariances(advantage: &[f64], log_prob: &[f64], entropy: &[f64]) -> Vec<f64> {
    assert!(
        advantage.len() == log_prob.len() && advantage.len() == entropy.len(),
        "{} advantages, {} log-probabilities, {} entropies: expected one of each per token",
        advantage.len(),
        log_prob.len(),
        entropy.len()
    );
    std::iter::zip(advantage, std::iter::zip(log_prob, entropy))
        .map(|(&advantage, (&log_prob, &entropy))| {
            state_token_covariance(advantage, log_prob, entropy)
        })
        .collect()
}
