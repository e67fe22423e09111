//! The change of entropy that Theorems 1 and 2 predict from a step's tokens.

use entropy_core::{PairedMoments, UpdateRule, state_token_covariances};
use serde::Serialize;

use crate::column::{ColumnError, check_columns};

/// Columns of [`EntropyChangeSums`], all `[tokens]`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntropyChangeColumns<'a> {
    /// `log π(y_t)` of the sampled tokens, in nats.
    pub log_prob: &'a [f64],
    /// Advantage.
    pub advantage: &'a [f64],
    /// Exact entropy of the distribution each token was drawn from, in nats.
    pub entropy: &'a [f64],
    /// `κ = Σ_a π(a)² (log π(a) + H)` of the same distributions
    /// ([`Categorical::log_prob_prob_covariance`](entropy_core::Categorical)), if known: what makes the
    /// state-centred Theorem 1 right for advantages that are not centred under the policy.
    pub mean_score: Option<&'a [f64]>,
}

/// Statistics of a batch from which the predicted change of entropy is read.
///
/// | centring | policy gradient (Theorem 1) | natural gradient (Theorem 2) |
/// |---|---|---|
/// | batch | `-η Cov_batch(log π, π A)` | `-η Cov_batch(log π, A)`, the mean of Eq. 10 |
/// | state | `-η mean [A (π (log π + H) - κ)]` | `-η mean [A (log π + H)]` |
///
/// The state-centred means are unbiased for the mean over the visited states of the theorems'
/// covariances (`κ` is [`mean_score`](EntropyChangeColumns::mean_score); without it 0, right where
/// the advantage has mean 0 under the policy). The batch-centred ones, as published, add the
/// covariance **between** states of entropy and mean advantage: `docs/theory.md#token-covariance`.
///
/// `η` is the step in logits of a table. A network with shared parameters moves otherwise: compare
/// signs and ranks, not sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct EntropyChangeSums {
    natural: PairedMoments,
    vanilla: PairedMoments,
    state_natural: f64,
    state_vanilla: f64,
}

impl EntropyChangeSums {
    /// Sums over tokens.
    ///
    /// # Errors
    ///
    /// [`ColumnError`] if the columns differ in length or a value is not finite.
    pub fn of(columns: EntropyChangeColumns<'_>) -> Result<Self, ColumnError> {
        let EntropyChangeColumns { log_prob, advantage, entropy, mean_score } = columns;
        check_columns(&[
            ("log_prob", log_prob),
            ("advantage", advantage),
            ("entropy", entropy),
            ("mean_score", mean_score.unwrap_or(log_prob)),
        ])?;
        let weighted: Vec<f64> =
            std::iter::zip(log_prob, advantage).map(|(log_prob, a)| log_prob.exp() * a).collect();
        let mut sums = Self {
            natural: PairedMoments::of(log_prob, advantage),
            vanilla: PairedMoments::of(log_prob, &weighted),
            ..Self::default()
        };
        let covariances = state_token_covariances(advantage, log_prob, entropy);
        for (token, covariance) in covariances.into_iter().enumerate() {
            let mean_score = mean_score.map_or(0.0, |scores| scores[token]);
            sums.state_natural += covariance;
            sums.state_vanilla +=
                log_prob[token].exp() * covariance - advantage[token] * mean_score;
        }
        Ok(sums)
    }

    /// Predicted change of entropy, centred over the batch as published, in nats. NaN of no tokens.
    pub fn batch_centred(&self, rule: UpdateRule, eta: f64) -> f64 {
        let moments = match rule {
            UpdateRule::PolicyGradient => self.vanilla,
            UpdateRule::NaturalPolicyGradient => self.natural,
        };
        -eta * moments.covariance().unwrap_or(f64::NAN)
    }

    /// Predicted change of entropy, centred in each state as in the theory, in nats. NaN of no
    /// tokens.
    pub fn state_centred(&self, rule: UpdateRule, eta: f64) -> f64 {
        let sum = match rule {
            UpdateRule::PolicyGradient => self.state_vanilla,
            UpdateRule::NaturalPolicyGradient => self.state_natural,
        };
        -eta * sum / self.natural.count as f64
    }
}
