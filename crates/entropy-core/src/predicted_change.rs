//! First-order effects on the entropy, in nats, each in the closed form that holds for it.
//!
//! Every figure equals [`Categorical::entropy_change_first_order`] of the step of the same name in
//! [`logit_step`]; the forms here say why, and sum terms of one sign where there
//! are such. Penalties of a divergence have no such form: take that of their step.

use crate::categorical::Categorical;
use crate::exact::{self, Direction, Figure};
use crate::logit_step::{self, UpdateRule};

impl UpdateRule {
    /// Change of entropy predicted to first order in `eta`, in nats: Theorem 1 for the policy
    /// gradient, Theorem 2 for the natural one.
    ///
    /// ```text
    /// Theorem 1: ΔH ≈ -η Cov_{a~π}(log π(a), π(a) (A(a) - E A))
    /// Theorem 2: ΔH ≈ -η Cov_{a~π}(log π(a), A(a))
    /// ```
    ///
    /// Source: arXiv:2505.22617, Theorems 1 and 2; derivations in `docs/theory.md#theorem-1` and
    /// `docs/theory.md#theorem-2`.
    pub fn predicted_entropy_change(
        self,
        policy: &Categorical,
        advantage: &[f64],
        eta: f64,
    ) -> f64 {
        let unit = Direction { column: advantage, rule: self, eta: 1.0 };
        eta * exact::figure(policy, unit, Figure::FirstOrder)
    }
}

/// Excess that the printed form of Theorem 1 adds if the advantage is not centred: `-η E[A] κ`, with
/// [`κ`](Categorical::log_prob_prob_covariance).
///
/// `-η Cov(log π, π A)` less this is the prediction of [`UpdateRule::PolicyGradient`].
///
/// Derivation: `docs/theory.md#uncentred-advantage`.
pub fn uncentred_excess(policy: &Categorical, advantage: &[f64], eta: f64) -> f64 {
    -eta * policy.mean(advantage) * policy.log_prob_prob_covariance()
}

/// Effect of one sample's gradient, `-η A G_a`, with the
/// [discriminator](Categorical::discriminators) `G`.
///
/// Derivation: `docs/theory.md#sampled-gradient`.
///
/// # Panics
///
/// If there is no such action.
pub fn sampled(policy: &Categorical, action: usize, advantage: f64, eta: f64) -> f64 {
    -eta * advantage * policy.discriminators()[action]
}

/// Variance of [`sampled`] over `action ~ π`: `η² (E[A²G²] - E[AG]²)`, in nats squared.
///
/// Derivation: `docs/theory.md#sampled-gradient`.
pub fn sampled_variance(policy: &Categorical, advantage: &[f64], eta: f64) -> f64 {
    policy.check_length(advantage);
    let discriminators = policy.discriminators();
    let effect = policy.over_support(|action| eta * advantage[action] * discriminators[action]);
    policy.covariance(&effect, &effect)
}

/// Effect of the clipped surrogate's expected gradient: `-η Σ π m A G`, with the mask `m` of
/// [`logit_step::clip_mask`].
///
/// Clipping a rare action from above (`A > 0`, `G < 0`) lowers the entropy, from below raises it.
///
/// Derivation: `docs/theory.md#clipped-surrogate`.
pub fn clipped_surrogate(policy: &Categorical, advantage: &[f64], mask: &[bool], eta: f64) -> f64 {
    let kept = logit_step::masked(policy, advantage, mask);
    let discriminators = policy.discriminators();
    -eta * policy.expect(|action| kept[action] * discriminators[action])
}

/// Effect of detaching tokens: that of [`logit_step::detached`] less that of the full gradient.
///
/// ```text
/// policy gradient:          η Σ π σ A G
/// natural policy gradient:  η Σ π σ A (log π + H)
/// ```
///
/// with `σ(a)` the probability that a sample of action `a` is detached. Under the natural gradient
/// every token of positive covariance raises the entropy by being detached; under the vanilla one
/// only those with `A G > 0`.
///
/// Derivation: `docs/theory.md#detached-tokens`. The same holds for samples of an older policy:
/// `docs/theory.md#stale-rollouts`.
pub fn detaching(
    policy: &Categorical,
    advantage: &[f64],
    detached: &[f64],
    rule: UpdateRule,
    eta: f64,
) -> f64 {
    policy.check_length(advantage);
    policy.check_length(detached);
    let weights = match rule {
        UpdateRule::PolicyGradient => policy.discriminators(),
        UpdateRule::NaturalPolicyGradient => policy.centred_log_probs().to_vec(),
    };
    eta * policy.expect(|action| detached[action] * advantage[action] * weights[action])
}

/// Effect of an entropy bonus, never negative.
///
/// ```text
/// policy gradient:          η α Σ π² (log π + H)²  =  η α |∇H|²
/// natural policy gradient:  η α Var(log π)
/// ```
///
/// Derivation: `docs/theory.md#entropy-bonus`.
pub fn entropy_bonus(policy: &Categorical, rule: UpdateRule, alpha: f64, eta: f64) -> f64 {
    eta * alpha * bonus_strength(policy, rule)
}

/// `|∇H|²` in the geometry of the rule.
fn bonus_strength(policy: &Categorical, rule: UpdateRule) -> f64 {
    policy.expect(|action| {
        let square = policy.centred_log_probs()[action].powi(2);
        match rule {
            UpdateRule::PolicyGradient => policy.probs()[action] * square,
            UpdateRule::NaturalPolicyGradient => square,
        }
    })
}

/// The entropy bonus at which the entropy of a population neither falls nor rises, in reward per
/// nat; `None` if no policy responds to a bonus (all uniform or certain).
///
/// ```text
/// policy gradient:          α* = Σ_s Cov_s(log π, π (A - E A)) / Σ_s Σ_a π² (log π + H)²
/// natural policy gradient:  α* = Σ_s Cov_s(log π, A) / Σ_s Var_s(log π)
/// ```
///
/// `states` are policies with their advantages, equally weighted. A negative value says that the
/// entropy rises without a bonus.
///
/// Derivation: `docs/theory.md#entropy-bonus`.
pub fn critical_entropy_bonus<'a>(
    rule: UpdateRule,
    states: impl IntoIterator<Item = (&'a Categorical, &'a [f64])>,
) -> Option<f64> {
    let (mut fall, mut strength) = (0.0, 0.0);
    for (policy, advantage) in states {
        fall -= rule.predicted_entropy_change(policy, advantage, 1.0);
        strength += bonus_strength(policy, rule);
    }
    (strength > 0.0).then(|| fall / strength)
}
