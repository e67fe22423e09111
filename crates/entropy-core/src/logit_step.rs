//! Steps that update rules take in logit space.

mod regulariser;
mod surrogate;

use crate::categorical::Categorical;
use serde::{Deserialize, Serialize};

pub use regulariser::{entropy_bonus, kl_from_reference, kl_to_reference};
pub(crate) use surrogate::masked;
pub use surrogate::{clip_mask, clipped_surrogate, detached, sampled};

/// How an advantage becomes a step of the logits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UpdateRule {
    /// Ascent along the gradient of the expected advantage: [`policy_gradient`].
    PolicyGradient,
    /// Ascent along the natural gradient: [`natural_policy_gradient`].
    NaturalPolicyGradient,
}

impl UpdateRule {
    /// Step of the logits, shape `[actions]`, for an `advantage` of shape `[actions]` in reward and
    /// step size `eta`.
    pub fn step(self, policy: &Categorical, advantage: &[f64], eta: f64) -> Vec<f64> {
        match self {
            Self::PolicyGradient => policy_gradient(policy, advantage, eta),
            Self::NaturalPolicyGradient => natural_policy_gradient(policy, advantage, eta),
        }
    }
}

/// Vanilla policy-gradient step `η π(a) (A(a) - E_π A)`, the exact gradient of `E_π A` with the
/// advantage held fixed; shape `[actions]`. Impossible actions stay where they are.
///
/// The paper's Proposition 1 leaves the centring out: there the advantage already has mean 0 under
/// the policy. The gradient of a softmax centres by itself.
///
/// Source: arXiv:2505.22617, Proposition 1; derivation in `docs/theory.md#proposition-1`.
pub fn policy_gradient(policy: &Categorical, advantage: &[f64], eta: f64) -> Vec<f64> {
    let centred = policy.centred(advantage);
    std::iter::zip(policy.probs(), centred).map(|(prob, centred)| eta * prob * centred).collect()
}

/// The product `η π(a) A(a)` that the paper's Proposition 1 prints; shape `[actions]`. **Not** the
/// gradient, unless the advantage has mean 0 under this policy.
///
/// Here for checking what the missing centring costs:
/// [`predicted_change::uncentred_excess`](crate::predicted_change::uncentred_excess). To step, use
/// [`policy_gradient`].
///
/// Source: arXiv:2505.22617, Proposition 1; derivation in `docs/theory.md#uncentred-advantage`.
pub fn uncentred_product(policy: &Categorical, advantage: &[f64], eta: f64) -> Vec<f64> {
    policy.check_length(advantage);
    policy.over_support(|action| eta * policy.probs()[action] * advantage[action])
}

/// Natural policy-gradient step `η A(a)`; shape `[actions]`. Impossible actions stay where they are.
///
/// The Fisher information of a softmax undoes the factor `π`; a constant added to the advantage
/// moves all logits alike and so changes nothing.
///
/// Source: arXiv:2505.22617, Theorem 2; derivation in `docs/theory.md#theorem-2`.
pub fn natural_policy_gradient(policy: &Categorical, advantage: &[f64], eta: f64) -> Vec<f64> {
    policy.check_length(advantage);
    policy.over_support(|action| eta * advantage[action])
}
