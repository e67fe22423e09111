//! Steps of regularised, clipped and sampled objectives, against derivatives taken numerically.

use entropy_core::{
    Categorical, InputError, UpdateRule, UpdateRule::NaturalPolicyGradient as Natural,
    UpdateRule::PolicyGradient as Vanilla, logit_step, predicted_change,
};
use proptest::prelude::*;

fn policy(logits: &[f64]) -> Categorical {
    Categorical::from_logits(logits).expect("finite logits are valid")
}

/// Two policies and an advantage over the same actions.
fn two_policies() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, Vec<f64>)> {
    (2usize..12).prop_flat_map(|actions| {
        let column = || prop::collection::vec(-3.0..3.0, actions);
        (column(), column(), column())
    })
}

fn gradient(logits: &[f64], objective: impl Fn(&Categorical) -> f64) -> Vec<f64> {
    let width = 1e-5;
    let shifted = |action: usize, shift: f64| {
        let mut moved = logits.to_vec();
        moved[action] += shift;
        objective(&policy(&moved))
    };
    (0..logits.len()).map(|k| (shifted(k, width) - shifted(k, -width)) / (2.0 * width)).collect()
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (actual, expected) in std::iter::zip(found, expected) {
        assert!((actual - expected).abs() < tolerance, "{actual} vs {expected}");
    }
}

/// Fails unless a natural step is the inverse Fisher information times the vanilla one:
/// `π (δ - E δ)` of the natural step is the vanilla step.
fn assert_natural(policy: &Categorical, natural: &[f64], vanilla: &[f64]) {
    let mean = policy.mean(natural);
    let mapped: Vec<f64> =
        std::iter::zip(policy.probs(), natural).map(|(p, d)| p * (d - mean)).collect();
    assert_close(&mapped, vanilla, 1e-13);
}

fn assert_predicts(policy: &Categorical, step: &[f64], predicted: f64) {
    let expected = policy.entropy_change_first_order(step);
    assert!((predicted - expected).abs() < 1e-13, "{predicted} vs {expected}");
}

proptest! {
    #[test]
    fn entropy_bonus_climbs_the_entropy((logits, _, _) in two_policies(), alpha in 0.01..2.0) {
        let here = policy(&logits);
        let vanilla = logit_step::entropy_bonus(&here, Vanilla, alpha, 0.5);
        let expected = gradient(&logits, |policy| 0.5 * alpha * policy.entropy());
        assert_close(&vanilla, &expected, 1e-8);
        assert_natural(&here, &logit_step::entropy_bonus(&here, Natural, alpha, 0.5), &vanilla);
        for rule in [Vanilla, Natural] {
            let predicted = predicted_change::entropy_bonus(&here, rule, alpha, 0.5);
            prop_assert!(predicted >= 0.0);
            assert_predicts(&here, &logit_step::entropy_bonus(&here, rule, alpha, 0.5), predicted);
        }
    }

    #[test]
    fn reference_divergences_fall((logits, reference, _) in two_policies(), beta in 0.01..2.0) {
        let (here, reference) = (policy(&logits), policy(&reference));
        let to = |rule| logit_step::kl_to_reference(&here, &reference, rule, beta, 0.5).unwrap();
        let expected = gradient(&logits, |p| -0.5 * beta * p.relative_entropy(&reference));
        assert_close(&to(Vanilla), &expected, 1e-8);
        assert_natural(&here, &to(Natural), &to(Vanilla));
        let from = logit_step::kl_from_reference(&here, &reference, beta, 0.5).unwrap();
        let expected = gradient(&logits, |p| -0.5 * beta * reference.relative_entropy(p));
        assert_close(&from, &expected, 1e-8);

        let log_probs = here.log_probs();
        let natural = 0.5 * beta
            * (here.covariance(log_probs, log_probs)
                - here.covariance(log_probs, reference.log_probs()));
        let effect = here.entropy_change_first_order(&to(Natural));
        prop_assert!((effect - natural).abs() < 1e-12);
        let difference: Vec<f64> =
            std::iter::zip(here.probs(), reference.probs()).map(|(p, q)| p - q).collect();
        let forward = 0.5 * beta * here.covariance(log_probs, &difference);
        let effect = here.entropy_change_first_order(&from);
        prop_assert!((effect - forward).abs() < 1e-12);
    }

    /// The surrogate `Σ π_old min(ρ A, clip(ρ) A)`, differentiated where no ratio sits on an edge.
    #[test]
    fn clipped_surrogate_is_climbed((logits, old, advantage) in two_policies()) {
        let (here, old) = (policy(&logits), policy(&old));
        let (low, high) = (0.2f64, 0.28f64);
        let ratio = |p: &Categorical, a: usize| p.probs()[a] / old.probs()[a];
        let on_edge = |a: usize| {
            [1.0 - low, 1.0 + high].iter().any(|edge| (ratio(&here, a) / edge - 1.0).abs() < 1e-3)
        };
        prop_assume!(!(0..logits.len()).any(on_edge));
        let surrogate = |p: &Categorical| -> f64 {
            (0..logits.len())
                .map(|a| {
                    let ratio = ratio(p, a);
                    let clipped = ratio.clamp(1.0 - low, 1.0 + high);
                    old.probs()[a] * (ratio * advantage[a]).min(clipped * advantage[a])
                })
                .sum()
        };
        let is_clipped = |x: f64, a: f64| {
            (a > 0.0 && x.exp() > 1.0 + high) || (a < 0.0 && x.exp() < 1.0 - low)
        };
        let mask = logit_step::clip_mask(&here, &old, &advantage, is_clipped);
        let step = logit_step::clipped_surrogate(&here, &advantage, &mask, 1.0);
        assert_close(&step, &gradient(&logits, surrogate), 1e-7);
        let predicted = predicted_change::clipped_surrogate(&here, &advantage, &mask, 1.0);
        assert_predicts(&here, &step, predicted);
    }

    #[test]
    fn sampled_steps_average_to_the_gradient((logits, _, advantage) in two_policies()) {
        let here = policy(&logits);
        let mut mean = vec![0.0; logits.len()];
        let (mut effect, mut square) = (0.0, 0.0);
        for (action, prob) in here.probs().iter().enumerate() {
            let step = logit_step::sampled(&here, action, advantage[action], 0.5);
            mean.iter_mut().zip(&step).for_each(|(m, d)| *m += prob * d);
            let predicted = predicted_change::sampled(&here, action, advantage[action], 0.5);
            assert_predicts(&here, &step, predicted);
            effect += prob * predicted;
            square += prob * predicted * predicted;
        }
        assert_close(&mean, &logit_step::policy_gradient(&here, &advantage, 0.5), 1e-14);
        let expected = Vanilla.predicted_entropy_change(&here, &advantage, 0.5);
        prop_assert!((effect - expected).abs() < 1e-14);
        let variance = predicted_change::sampled_variance(&here, &advantage, 0.5);
        prop_assert!((variance - (square - effect * effect)).abs() < 1e-14);
        prop_assert!(here.mean(&here.discriminators()).abs() < 1e-16);
    }

    /// Each sample drawn, then kept or dropped, both enumerated.
    #[test]
    fn detaching_drops_whole_samples((logits, chances, advantage) in two_policies()) {
        let here = policy(&logits);
        let chances: Vec<f64> = chances.iter().map(|c| c.abs() / 3.0).collect();
        let mut mean = vec![0.0; logits.len()];
        for (action, prob) in here.probs().iter().enumerate() {
            let step = logit_step::sampled(&here, action, advantage[action], 0.5);
            mean.iter_mut().zip(step).for_each(|(m, d)| *m += prob * (1.0 - chances[action]) * d);
        }
        let step = |chances: &[f64], rule| {
            logit_step::detached(&here, &advantage, chances, rule, 0.5)
        };
        assert_close(&step(&chances, Vanilla), &mean, 1e-14);
        let none = vec![0.0; chances.len()];
        for rule in [Vanilla, Natural] {
            let change = here.entropy_change_first_order(&step(&chances, rule))
                - here.entropy_change_first_order(&step(&none, rule));
            let predicted = predicted_change::detaching(&here, &advantage, &chances, rule, 0.5);
            prop_assert!((predicted - change).abs() < 1e-13, "{predicted} vs {change}");
        }
    }

    /// The prediction of the printed form of Theorem 1, less its excess, is that of the theorem.
    #[test]
    fn missing_centring_costs_what_is_said((logits, _, advantage) in two_policies()) {
        let here = policy(&logits);
        let raw = logit_step::uncentred_product(&here, &advantage, 0.5);
        let printed = here.entropy_change_first_order(&raw);
        let excess = predicted_change::uncentred_excess(&here, &advantage, 0.5);
        let theorem = Vanilla.predicted_entropy_change(&here, &advantage, 0.5);
        prop_assert!((printed - excess - theorem).abs() < 1e-13);
        prop_assert!(here.log_prob_prob_covariance() >= 0.0);
    }

    #[test]
    fn at_the_critical_bonus_the_entropy_stands_still((a, b, advantage) in two_policies()) {
        let states = [policy(&a), policy(&b)];
        let with_advantage = || states.iter().map(|state| (state, advantage.as_slice()));
        for rule in [Vanilla, Natural] {
            let alpha = predicted_change::critical_entropy_bonus(rule, with_advantage()).unwrap();
            let change: f64 = with_advantage()
                .map(|(state, advantage)| {
                    rule.predicted_entropy_change(state, advantage, 1.0)
                        + state.entropy_change_first_order(&logit_step::entropy_bonus(
                            state, rule, alpha, 1.0,
                        ))
                })
                .sum();
            prop_assert!(change.abs() < 1e-12, "{rule:?}: {change:e}");
        }
    }
}

#[test]
fn detaching_can_lower_the_entropy_under_the_policy_gradient() {
    let policy = policy(&[0.5f64.ln(), 0.45f64.ln(), 0.05f64.ln()]);
    let (advantage, second) = ([0.0, 1.0, 0.0], [0.0, 1.0, 0.0]);
    let effect = |rule| predicted_change::detaching(&policy, &advantage, &second, rule, 1.0);
    assert!(effect(Natural) > 0.02, "{}", effect(Natural));
    assert!(effect(Vanilla) < -0.009, "{}", effect(Vanilla));
    assert!(policy.discriminators()[1] < 0.0 && policy.centred_log_probs()[1] > 0.0);
}

#[test]
fn a_policy_certain_or_uniform_answers_no_bonus() {
    let states = [policy(&[0.0, 0.0]), policy(&[0.0, f64::NEG_INFINITY])];
    let with_advantage = states.iter().map(|state| (state, [1.0, 0.0].as_slice()));
    assert_eq!(predicted_change::critical_entropy_bonus(Vanilla, with_advantage), None);
}

#[test]
fn a_reference_that_does_not_fit_is_an_error() {
    let (two, masked) = (policy(&[0.0, 1.0]), policy(&[0.0, f64::NEG_INFINITY]));
    let three = policy(&[0.0, 1.0, 2.0]);
    let to = |p: &Categorical, r: &Categorical, rule: UpdateRule| {
        logit_step::kl_to_reference(p, r, rule, 1.0, 1.0)
    };
    assert_eq!(to(&two, &masked, Natural).unwrap_err(), InputError::Support { action: 1 });
    assert!(to(&masked, &two, Vanilla).is_ok());
    assert_eq!(
        to(&two, &three, Vanilla).unwrap_err().to_string(),
        "`reference` has 3 values; expected 2"
    );
    let from = logit_step::kl_from_reference(&masked, &two, 1.0, 1.0).unwrap_err();
    assert_eq!(from, InputError::Support { action: 1 });
    assert!(two.relative_entropy(&masked).is_infinite());
    assert!((masked.relative_entropy(&two) + two.log_probs()[0]).abs() < 1e-15);
}
