//! Steps of the regularisers: entropy bonus and divergences from a reference policy.
//!
//! The first two act as an advantage does: an entropy bonus rewards what is rare, `-α log π`, and a
//! divergence `KL(π ‖ π_ref)` what is rarer than in the reference, `-β log(π / π_ref)`.

use super::UpdateRule;
use crate::categorical::Categorical;
use crate::input_error::{InputError, check_length, check_reference};

/// Ascent step on `α H`; shape `[actions]`.
///
/// ```text
/// policy gradient:          -η α π(a) (log π(a) + H)
/// natural policy gradient:  -η α (log π(a) + H)
/// ```
///
/// `alpha` is in reward per nat. Derivation: `docs/theory.md#entropy-bonus`; first-order effect on
/// the entropy: [`predicted_change::entropy_bonus`](crate::predicted_change::entropy_bonus).
pub fn entropy_bonus(policy: &Categorical, rule: UpdateRule, alpha: f64, eta: f64) -> Vec<f64> {
    let rarity = policy.over_support(|action| -alpha * policy.centred_log_probs()[action]);
    rule.step(policy, &rarity, eta)
}

/// Ascent step on `-β KL(π ‖ π_ref)`; shape `[actions]`. With `D = log π - log π_ref`:
///
/// ```text
/// policy gradient:          -η β π(a) (D(a) - KL)
/// natural policy gradient:  -η β D(a)
/// ```
///
/// The estimator `k2 = ½ D²` has this gradient in expectation; `k3` has that of
/// [`kl_from_reference`]. `beta` is in reward per nat. Derivation: `docs/theory.md#reference-kl`.
///
/// # Errors
///
/// [`InputError`] if the reference has another number of actions, or lacks one that the policy can
/// take.
pub fn kl_to_reference(
    policy: &Categorical,
    reference: &Categorical,
    rule: UpdateRule,
    beta: f64,
    eta: f64,
) -> Result<Vec<f64>, InputError> {
    check_reference(policy, reference)?;
    let (log_probs, others) = (policy.log_probs(), reference.log_probs());
    let surprise = policy.over_support(|action| -beta * (log_probs[action] - others[action]));
    Ok(rule.step(policy, &surprise, eta))
}

/// Ascent step of the policy gradient on `-β KL(π_ref ‖ π)`, `-η β (π(a) - π_ref(a))`; shape
/// `[actions]`.
///
/// Derivation: `docs/theory.md#reference-kl`.
///
/// # Errors
///
/// [`InputError`] if the reference has another number of actions, or can take one that the policy
/// cannot.
pub fn kl_from_reference(
    policy: &Categorical,
    reference: &Categorical,
    beta: f64,
    eta: f64,
) -> Result<Vec<f64>, InputError> {
    check_length("reference", reference.actions(), policy.actions())?;
    check_reference(reference, policy)?;
    let step = |(prob, reference): (&f64, &f64)| -eta * beta * (prob - reference);
    Ok(std::iter::zip(policy.probs(), reference.probs()).map(step).collect())
}
