//! Losses and what they sample: Clip-Cov, KL-Cov, the clipped surrogate, regularisers, the clock.

use crate::wrong_formulas::{ORDER, assert_fails, failed, states};
use entropy_core::{Categorical, UpdateRule, predicted_change};
use softmax_sim::statement::{clip_cov, clipped, clock, kl_cov, regulariser, sampled, stale};

#[test]
fn clip_cov_by_the_covariance_alone_fails() {
    let by_covariance =
        |policy: &Categorical, advantage: &[f64], actions: &[usize], count: usize| {
            let centred = policy.centred_log_probs();
            actions.iter().map(|a| advantage[*a] * centred[*a]).sum::<f64>() / count as f64
        };
    let right = clip_cov::check(&states(), 1, clip_cov::predict);
    let wrong = clip_cov::check(&states(), 1, by_covariance);
    assert!(failed(&right).is_empty(), "{right:#?}");
    assert!(
        failed(&wrong).contains(&"first-order effect of the dropped tokens, gap"),
        "{wrong:#?}"
    );
    assert!(failed(&wrong).contains(&"detaching Cov > 0 can lower H, by hand: misses"));
}

#[test]
fn kl_cov_without_its_sign_fails() {
    let unsigned = |policy: &Categorical, coefficient: f64, selected: &[(usize, f64)], count| {
        let sizes: Vec<(usize, f64)> = selected.iter().map(|(a, x)| (*a, x.abs())).collect();
        kl_cov::predict(policy, coefficient, &sizes, count)
    };
    let right = kl_cov::check(&states(), 1, kl_cov::predict);
    let wrong = kl_cov::check(&states(), 1, unsigned);
    assert!(failed(&right).is_empty(), "{right:#?}");
    assert!(
        failed(&wrong).contains(&"first-order effect of the penalised tokens, gap"),
        "{wrong:#?}"
    );
}

#[test]
fn effects_of_stale_rollouts_by_the_policy_that_sampled_fail() {
    let right = stale::FORMULAS;
    assert!(failed(&stale::check(&states(), &right)).is_empty());
    let by_old = stale::Formulas {
        clip_cov: |_, old, advantage, selected| {
            (stale::FORMULAS.clip_cov)(old, old, advantage, selected)
        },
        kl_cov: |policy, _, selected| (stale::FORMULAS.kl_cov)(policy, policy, selected),
        covariance: |policy, advantage, drift| {
            2.0 * (stale::FORMULAS.covariance)(policy, advantage, drift)
        },
    };
    assert_eq!(
        failed(&stale::check(&states(), &by_old)),
        [
            "Clip-Cov: effect against Σ π σ A G, gap",
            "KL-Cov: effect against β Σ μ σ sign(log ratio) G, gap",
            "order of the error of Cov over μ, distance from 2",
        ]
    );
}

#[test]
fn a_sampled_gradient_with_the_covariance_of_theorem_2_fails() {
    let natural = |policy: &Categorical, advantage: &[f64]| {
        let rule = UpdateRule::NaturalPolicyGradient;
        let (_, variance) = sampled::predict(policy, advantage);
        (rule.predicted_entropy_change(policy, advantage, 1.0), 2.0 * variance)
    };
    assert!(failed(&sampled::check(3, sampled::predict)).is_empty());
    assert_eq!(failed(&sampled::check(3, natural)).len(), 2);
}

#[test]
fn a_clipped_surrogate_without_its_mask_fails() {
    let right = predicted_change::clipped_surrogate;
    let unmasked = |policy: &Categorical, advantage: &[f64], mask: &[bool], eta| {
        predicted_change::clipped_surrogate(policy, advantage, &vec![true; mask.len()], eta)
    };
    assert_fails(&clipped::check(&states(), right), &clipped::check(&states(), unmasked), &[ORDER]);
}

#[test]
fn regularisers_one_per_cent_off_fail() {
    let off = |term, rule, policy: &Categorical, reference: &Categorical| {
        1.01 * regulariser::predict(term, rule, policy, reference)
    };
    assert!(failed(&regulariser::check(&states(), regulariser::predict)).is_empty());
    let wrong = regulariser::check(&states(), off);
    let orders = failed(&wrong).iter().filter(|check| check.starts_with("order")).count();
    assert_eq!(orders, 3, "{wrong:#?}");
}

#[test]
fn a_clock_of_one_over_sigma_fails() {
    assert!(failed(&clock::check(0, clock::clock)).is_empty());
    let sigma = |success: f64, _: usize| 1.0 / (success * (1.0 - success)).sqrt();
    assert_eq!(failed(&clock::check(0, sigma)).len(), 2);
}
