//! One line of output: what a step does to the entropy, and what was predicted.

use super::request::{Problem, Request};
use entropy_core::{Categorical, UpdateRule};
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
    /// finite step that is not negative.
    pub fn answer(&self, line: u64) -> Result<Answer, Problem> {
        let (policy, advantages) = self.checked(line)?;
        let rule = UpdateRule::from(self.rule);
        let step = rule.step(&policy, &advantages, self.eta);
        let unit_step = rule.step(&policy, &advantages, 1.0);
        let remainder_bound = policy.remainder_bound(&step);
        // Where the square of the step overflows, so does what is computed from it.
        let numbers = step.iter().chain(&unit_step).chain([&remainder_bound]);
        if !numbers.copied().all(f64::is_finite) {
            return Err(Problem::Overflow { line });
        }
        let answer = Answer {
            id: self.id.clone(),
            entropy_before: policy.entropy(),
            entropy_after: moved(&policy, &step).entropy(),
            delta: positive_zero(policy.entropy_change(&step)),
            first_order: positive_zero(policy.entropy_change_first_order(&step)),
            second_order: positive_zero(0.5 * policy.entropy_curvature(&step)),
            remainder: positive_zero(policy.first_order_remainder(&step)),
            remainder_bound,
            covariance: positive_zero(-policy.entropy_change_first_order(&unit_step)),
        };
        if answer.is_finite() { Ok(answer) } else { Err(Problem::Overflow { line }) }
    }
}

impl Answer {
    fn is_finite(&self) -> bool {
        let numbers = [
            self.entropy_after,
            self.delta,
            self.first_order,
            self.second_order,
            self.remainder,
            self.covariance,
        ];
        numbers.into_iter().all(f64::is_finite)
    }
}

/// The policy after the step. Centred log-probabilities in place of logits: logits of 1e300 would
/// swallow the step.
fn moved(policy: &Categorical, step: &[f64]) -> Categorical {
    let logits: Vec<f64> =
        std::iter::zip(policy.centred_log_probs(), step).map(|(c, step)| c + step).collect();
    Categorical::from_logits(&logits).expect("a finite step keeps possible actions possible")
}

/// `-0.0` would be read as a tiny fall of the entropy.
fn positive_zero(value: f64) -> f64 {
    value + 0.0
}
