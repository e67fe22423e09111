//! Custom advantages in place of an estimator of the registry.

use std::fmt;
use std::sync::Arc;

type Estimate = dyn Fn(&[f64], usize) -> Vec<f64> + Send + Sync;

/// Custom advantages: a function of the rewards of a rollout, `[prompts, samples]`, and of the number of samples, to the advantages of
/// the responses, `[prompts, samples]`.
#[derive(Clone)]
pub struct CustomAdvantage(Arc<Estimate>);

impl CustomAdvantage {
    /// Wraps the function.
    pub fn new(estimate: impl Fn(&[f64], usize) -> Vec<f64> + Send + Sync + 'static) -> Self {
        Self(Arc::new(estimate))
    }

    /// Advantage of each token, `[prompts, samples, positions]`.
    pub(super) fn of_tokens(
        &self,
        rewards: &[f64],
        group_size: usize,
        positions: usize,
    ) -> Vec<f64> {
        let advantages = (self.0)(rewards, group_size);
        assert_eq!(advantages.len(), rewards.len(), "one advantage a response");
        assert!(advantages.iter().all(|advantage| advantage.is_finite()), "finite advantages");
        advantages.iter().flat_map(|&advantage| std::iter::repeat_n(advantage, positions)).collect()
    }
}

impl fmt::Debug for CustomAdvantage {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CustomAdvantage")
    }
}
