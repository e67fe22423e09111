//! The continuous-time natural policy gradient, in closed form, with its regularisers.

use crate::categorical::Categorical;
use crate::input_error::{InputError, check_column, check_not_negative, check_reference};

/// Natural policy-gradient flow of one state,
/// `ż = r - α log π - β (log π - log π_ref)`, from a start policy.
///
/// ```text
/// z_t = e^(-ct) z_0 + (1 - e^(-ct)) (r + β log π_ref) / c,   c = α + β
/// ```
///
/// Without regularisers `π_t ∝ π_0 e^(t r)`.
///
/// Source: arXiv:2505.22617, Theorem 2 in continuous time; derivation in
/// `docs/theory.md#natural-flow`.
#[derive(Debug, Clone, PartialEq)]
pub struct NaturalFlow {
    start: Categorical,
    reward: Vec<f64>,
    alpha: f64,
    beta: f64,
    reference: Option<Categorical>,
}

/// State of a flow at one time.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowPoint {
    /// The policy.
    pub policy: Categorical,
    /// Its expected reward, `R`.
    pub reward: f64,
    /// `dR/dt`.
    pub reward_rate: f64,
    /// `dH/dt`, in nats.
    pub entropy_rate: f64,
}

impl NaturalFlow {
    /// The flow without regularisers; `reward` has shape `[actions]`.
    ///
    /// # Errors
    ///
    /// [`InputError`] if `reward` does not hold one finite value per possible action.
    pub fn new(start: Categorical, reward: &[f64]) -> Result<Self, InputError> {
        check_column(&start, "reward", reward)?;
        Ok(Self { start, reward: reward.to_vec(), alpha: 0.0, beta: 0.0, reference: None })
    }

    /// Adds an entropy bonus `alpha` to the flow, in reward per nat.
    ///
    /// # Errors
    ///
    /// [`InputError`] if `alpha` is negative or not finite.
    pub fn with_entropy_bonus(self, alpha: f64) -> Result<Self, InputError> {
        check_not_negative("alpha", alpha)?;
        Ok(Self { alpha, ..self })
    }

    /// Adds a penalty to the flow: `beta · KL(π ‖ reference)`, `beta` in reward per nat.
    ///
    /// # Errors
    ///
    /// [`InputError`] if `beta` is negative or not finite, or the reference lacks an action of the
    /// start policy.
    pub fn with_reference(self, reference: Categorical, beta: f64) -> Result<Self, InputError> {
        check_not_negative("beta", beta)?;
        check_reference(&self.start, &reference)?;
        Ok(Self { beta, reference: Some(reference), ..self })
    }

    /// The policy after `time`, 0 or above.
    ///
    /// # Panics
    ///
    /// If `time` is NaN, or infinite in a flow without regularisers.
    pub fn policy_at(&self, time: f64) -> Categorical {
        let rate = self.alpha + self.beta;
        // (1 - e^(-ct)) / c, which is t where c is 0.
        let weight = same_curve_time(rate, time);
        let kept = (-rate * time).exp();
        let logits: Vec<f64> = (0..self.start.actions())
            .map(|action| {
                if !self.start.is_possible(action) {
                    return f64::NEG_INFINITY;
                }
                let pull =
                    self.reference.as_ref().map_or(0.0, |r| self.beta * r.log_probs()[action]);
                kept.mul_add(
                    self.start.centred_log_probs()[action],
                    weight * (self.reward[action] + pull),
                )
            })
            .collect();
        Categorical::from_logits(&logits).expect("a finite time keeps logits finite")
    }

    /// The policy after `time` with its reward, and the rates of reward and entropy there.
    ///
    /// # Panics
    ///
    /// Under the same conditions as [`policy_at`](Self::policy_at).
    pub fn at(&self, time: f64) -> FlowPoint {
        let policy = self.policy_at(time);
        let velocity = policy.over_support(|action| {
            let against = self.reference.as_ref().map_or(0.0, |reference| {
                policy.log_probs()[action] - reference.log_probs()[action]
            });
            self.reward[action]
                - self.alpha * policy.centred_log_probs()[action]
                - self.beta * against
        });
        FlowPoint {
            reward: policy.mean(&self.reward),
            reward_rate: policy.covariance(&self.reward, &velocity),
            entropy_rate: policy.entropy_change_first_order(&velocity),
            policy,
        }
    }
}

/// Time `τ = (1 - e^(-βt)) / β` at which the flow without regularisers has the policy that the flow
/// with the penalty `β KL(π ‖ π_0)` to its start has at `time`; never beyond `1/β`.
///
/// The penalty leaves the curve of reward against entropy as it is, and stops on it.
///
/// Derivation: `docs/theory.md#same-curve`.
pub fn same_curve_time(beta: f64, time: f64) -> f64 {
    if beta == 0.0 { time } else { -(-beta * time).exp_m1() / beta }
}
