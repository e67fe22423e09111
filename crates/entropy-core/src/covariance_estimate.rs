//! Expectation and variance of a covariance estimated from a batch of tokens.

use crate::categorical::Categorical;
use crate::input_error::{InputError, check_not_negative, check_parameter};
use crate::summation::sum;

/// Covariance of log-probability and advantage over tokens of several states, in nat·reward, split
/// by the law of total covariance.
///
/// Derivation: `docs/theory.md#state-centring`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CovarianceDecomposition {
    /// Mean over the states of `Cov_s(log π, A)`: the covariance of the theorems.
    pub within: f64,
    /// Covariance of the states' means, `-Cov_s(H(s), E[A | s])`: 0 if the advantage is centred in
    /// every state.
    pub between: f64,
}

impl CovarianceDecomposition {
    /// Splits over states with their weights, policies and advantages; the weights need not sum
    /// to 1.
    ///
    /// # Errors
    ///
    /// [`InputError`] if a weight is negative or not finite, or all are 0.
    pub fn of<'a>(
        states: impl IntoIterator<Item = (f64, &'a Categorical, &'a [f64])>,
    ) -> Result<Self, InputError> {
        let (mut weights, mut within) = (Vec::new(), Vec::new());
        let (mut log_prob, mut mean_advantage) = (Vec::new(), Vec::new());
        for (weight, policy, advantage) in states {
            check_not_negative("weight", weight)?;
            weights.push(weight);
            within.push(policy.covariance(policy.centred_log_probs(), advantage));
            log_prob.push(-policy.entropy());
            mean_advantage.push(policy.mean(advantage));
        }
        let total = sum(weights.iter().copied());
        check_parameter("sum of the weights", total, total > 0.0, "a positive number")?;
        let mean = |values: &[f64]| {
            sum(std::iter::zip(&weights, values).map(|(weight, value)| weight / total * value))
        };
        let (centre_x, centre_y) = (mean(&log_prob), mean(&mean_advantage));
        let products: Vec<f64> = std::iter::zip(&log_prob, &mean_advantage)
            .map(|(x, y)| (x - centre_x) * (y - centre_y))
            .collect();
        Ok(Self { within: mean(&within), between: mean(&products) })
    }

    /// Covariance over all tokens.
    pub fn total(self) -> f64 {
        self.within + self.between
    }

    /// Expected mean of the batch-centred token covariances over `tokens` drawn independently,
    /// states included: `(1 - 1/N)` times the [total](Self::total).
    pub fn expected_batch_mean(self, tokens: usize) -> f64 {
        (1.0 - 1.0 / tokens as f64) * self.total()
    }

    /// Expected mean of the batch-centred token covariances where each of `states` states, of equal
    /// weight, is visited `samples` times: `(1 - 1/(PG)) within + between`.
    pub fn expected_mean_of_fixed_states(self, states: usize, samples: usize) -> f64 {
        (1.0 - 1.0 / (states * samples) as f64) * self.within + self.between
    }
}

/// Moments of the covariance estimated from independent tokens of one state.
///
/// Derivation: `docs/theory.md#estimator`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CovarianceEstimate {
    /// The covariance that is estimated, `Cov_π(log π, A)`, in nat·reward.
    pub covariance: f64,
    /// Mean of the batch-centred token covariances, in expectation: `(1 - 1/N)` of the covariance.
    pub expected_batch_mean: f64,
    /// Variance of the unbiased estimate, `N/(N-1)` times the batch mean.
    pub variance_of_unbiased: f64,
}

impl CovarianceEstimate {
    /// Moments for `tokens` independent tokens of one state.
    ///
    /// # Errors
    ///
    /// [`InputError`] for fewer than two tokens.
    pub fn of(policy: &Categorical, advantage: &[f64], tokens: usize) -> Result<Self, InputError> {
        let n = tokens as f64;
        check_parameter("tokens", n, tokens >= 2, "at least 2")?;
        let (x, y) = (policy.centred_log_probs(), policy.centred(advantage));
        let covariance = policy.covariance(x, advantage);
        let squares = policy.expect(|a| (x[a] * y[a]).powi(2));
        let (var_x, var_y) = (policy.expect(|a| x[a] * x[a]), policy.expect(|a| y[a] * y[a]));
        let square = covariance * covariance;
        Ok(Self {
            covariance,
            expected_batch_mean: (1.0 - 1.0 / n) * covariance,
            variance_of_unbiased: (squares - square) / n
                + var_x.mul_add(var_y, square) / (n * (n - 1.0)),
        })
    }
}
