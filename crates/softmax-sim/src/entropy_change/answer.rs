//! One line of output: what a step does to the entropy, and what was predicted.

use super::request::{Problem, Request};
use entropy_core::UpdateEffect;
use serde::Serialize;

/// The change of entropy along one step, in nats throughout.
///
/// ```text
/// delta = first_order + remainder,   |remainder| ≤ remainder_bound
/// remainder = second_order + O(η³)
/// ```
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answer {
    /// The name of the request.
    pub id: serde_json::Value,
    /// Entropy of the policy.
    pub entropy_before: f64,
    /// Entropy after the step.
    pub entropy_after: f64,
    /// Exact change of entropy, without cancellation.
    pub delta: f64,
    /// First-order term `-η · covariance`: Theorem 1 or 2.
    pub first_order: f64,
    /// Second-order term alone, `½ h''(0)`.
    pub second_order: f64,
    /// `delta - first_order`, without cancellation.
    pub remainder: f64,
    /// Rigorous bound on the size of the remainder.
    pub remainder_bound: f64,
    /// `Cov(log π, π (A - E A))` for `pg`, `Cov(log π, A)` for `npg`; in nat·reward.
    pub covariance: f64,
}

impl Request {
    /// Takes the step; `line` is the line that a problem is reported for.
    ///
    /// # Errors
    ///
    /// [`Problem`] if the request is no policy with one finite advantage per possible action and a
    /// finite step.
    pub fn answer(&self, line: u64) -> Result<Answer, Problem> {
        let advantages = self.checked(line)?;
        // All that is left to go wrong is the range of numbers.
        let effect = UpdateEffect::new(&self.logits, &advantages, self.eta, self.rule.into())
            .map_err(|_| Problem::Overflow { line })?;
        let answer = Answer {
            id: self.id.clone(),
            entropy_before: effect.entropy_before,
            entropy_after: effect.entropy_after,
            delta: positive_zero(effect.delta),
            first_order: positive_zero(effect.first_order),
            second_order: positive_zero(effect.second_order),
            remainder: positive_zero(effect.remainder),
            remainder_bound: effect.remainder_bound,
            covariance: positive_zero(effect.covariance),
        };
        let numbers = [
            answer.entropy_after,
            answer.delta,
            answer.first_order,
            answer.second_order,
            answer.remainder,
            answer.remainder_bound,
            answer.covariance,
        ];
        let is_finite = numbers.into_iter().all(f64::is_finite);
        if is_finite { Ok(answer) } else { Err(Problem::Overflow { line }) }
    }
}

/// `-0.0` would be read as a tiny fall of the entropy.
fn positive_zero(value: f64) -> f64 {
    value + 0.0
}
