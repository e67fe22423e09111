//! Steps of sampled and clipped objectives, and of objectives some tokens are detached from.

use super::{UpdateRule, policy_gradient};
use crate::categorical::Categorical;

/// Step of the gradient from one sample, `η A (1[k = action] - π(k))`; shape `[actions]`.
///
/// Its mean over `action ~ π` is the step of [`policy_gradient`]. Derivation and effect on the
/// entropy: `docs/theory.md#sampled-gradient`.
///
/// # Panics
///
/// If there is no such action.
pub fn sampled(policy: &Categorical, action: usize, advantage: f64, eta: f64) -> Vec<f64> {
    let mut step = vec![0.0; policy.actions()];
    policy.vjp_log_prob(action, eta * advantage, &mut step);
    step
}

/// Which actions the clipped surrogate still pushes: `false` where `is_clipped(log_ratio,
/// advantage)`, with `log_ratio = log π - log π_old`; shape `[actions]`.
///
/// The test itself belongs to the loss: pass `ClipRange::is_clipped` of `rl-losses`. Actions
/// impossible under either policy are never sampled and count as not clipped.
pub fn clip_mask(
    policy: &Categorical,
    old_policy: &Categorical,
    advantage: &[f64],
    is_clipped: impl Fn(f64, f64) -> bool,
) -> Vec<bool> {
    policy.check_length(old_policy.log_probs());
    policy.check_length(advantage);
    let open = |action: usize| {
        let log_ratio = policy.log_probs()[action] - old_policy.log_probs()[action];
        !(log_ratio.is_finite() && is_clipped(log_ratio, advantage[action]))
    };
    (0..policy.actions()).map(open).collect()
}

/// Expected step of the clipped surrogate where the policy has left `π_old`; shape `[actions]`.
///
/// ```text
/// δ(a) = η π(a) (m(a) A(a) - E_π[m A])
/// ```
///
/// `π` is the current policy, `A` the old advantage, no longer centred, and `m` the [`clip_mask`].
///
/// Derivation: `docs/theory.md#clipped-surrogate`.
pub fn clipped_surrogate(
    policy: &Categorical,
    advantage: &[f64],
    mask: &[bool],
    eta: f64,
) -> Vec<f64> {
    policy_gradient(policy, &masked(policy, advantage, mask), eta)
}

/// Expected step where the gradient of action `a` is dropped with probability `detached[a]`, as
/// Clip-Cov does to the tokens it selects; shape `[actions]`.
///
/// A detached sample loses the part that lowers the other logits, too.
///
/// Derivation: `docs/theory.md#detached-tokens`.
pub fn detached(
    policy: &Categorical,
    advantage: &[f64],
    detached: &[f64],
    rule: UpdateRule,
    eta: f64,
) -> Vec<f64> {
    policy.check_length(advantage);
    policy.check_length(detached);
    let kept = policy.over_support(|action| (1.0 - detached[action]) * advantage[action]);
    rule.step(policy, &kept, eta)
}

/// The advantage, 0 where the mask is `false`.
pub(crate) fn masked(policy: &Categorical, advantage: &[f64], mask: &[bool]) -> Vec<f64> {
    policy.check_length(advantage);
    assert!(
        mask.len() == policy.actions(),
        "a mask of {} for {} actions: expected one value per action",
        mask.len(),
        policy.actions()
    );
    policy.over_support(|action| if mask[action] { advantage[action] } else { 0.0 })
}
