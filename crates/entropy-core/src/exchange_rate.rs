//! Reward gained per entropy spent in an update: the slope that the R-H law says is `-a e^H`.

use crate::categorical::Categorical;
use crate::logit_step::UpdateRule;
use serde::{Deserialize, Serialize};

/// Rates of reward and entropy of a population of states, per unit of `η`, as sums that merge.
///
/// ```text
/// policy gradient:          Σ_s Σ_a π² (A - E A)²   and  -Σ_s Cov_s(log π, π (A - E A))
/// natural policy gradient:  Σ_s Var_s(A)            and  -Σ_s Cov_s(log π, A)
/// ```
///
/// Derivation: `docs/theory.md#exchange-rate`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct ExchangeRate {
    /// Sum of `dR/dη` over the states, in reward; never negative.
    pub reward: f64,
    /// Sum of `dH/dη` over the states, in nats.
    pub entropy: f64,
}

impl ExchangeRate {
    /// Rates of one state whose reward per action is `advantage`, up to a constant.
    pub fn of(policy: &Categorical, advantage: &[f64], rule: UpdateRule) -> Self {
        let step = rule.step(policy, advantage, 1.0);
        Self {
            reward: policy.covariance(advantage, &step),
            entropy: policy.entropy_change_first_order(&step),
        }
    }
}
