//! Properties of every policy and every step.

use entropy_core::{
    Categorical, CovarianceSummary, PairedMoments, UpdateEffect, UpdateRule, token_covariances,
};
use proptest::prelude::*;

fn policy(logits: &[f64]) -> Categorical {
    Categorical::from_logits(logits).expect("finite logits are valid")
}

fn logits_and_direction() -> impl Strategy<Value = (Vec<f64>, Vec<f64>)> {
    (2usize..40).prop_flat_map(|actions| {
        (prop::collection::vec(-8.0..8.0, actions), prop::collection::vec(-1.0..1.0, actions))
    })
}

/// Logits among which some are `-∞`; the first is always finite.
fn masked_logits() -> impl Strategy<Value = Vec<f64>> {
    let logit = prop_oneof![4 => (-300.0..300.0f64).boxed(), 1 => Just(f64::NEG_INFINITY).boxed()];
    (-300.0..300.0f64, prop::collection::vec(logit, 0..30)).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    })
}

fn scaled(direction: &[f64], eta: f64) -> Vec<f64> {
    direction.iter().map(|d| eta * d).collect()
}

fn added(logits: &[f64], step: &[f64]) -> Vec<f64> {
    std::iter::zip(logits, step).map(|(z, d)| z + d).collect()
}

/// Central difference of `f` in every coordinate.
fn central_difference(logits: &[f64], f: impl Fn(&Categorical) -> f64) -> Vec<f64> {
    let width = 1e-5;
    let shifted = |action: usize, shift: f64| {
        let mut moved = logits.to_vec();
        moved[action] += shift;
        f(&policy(&moved))
    };
    (0..logits.len()).map(|k| (shifted(k, width) - shifted(k, -width)) / (2.0 * width)).collect()
}

proptest! {
    #[test]
    fn probabilities_sum_to_one_and_entropy_stays_in_range(logits in masked_logits()) {
        let policy = policy(&logits);
        let total: f64 = policy.probs().iter().sum();
        prop_assert!((total - 1.0).abs() < 1e-14, "{total}");
        let largest = (policy.support() as f64).ln();
        prop_assert!(policy.entropy() >= 0.0);
        prop_assert!(policy.entropy() <= largest * (1.0 + 1e-15));
    }

    #[test]
    fn shifting_all_logits_changes_nothing(
        (logits, direction) in logits_and_direction(),
        shift in -1000.0..1000.0,
    ) {
        let (original, shifted) = (policy(&logits), policy(&added(&logits, &vec![shift; logits.len()])));
        prop_assert!((original.entropy() - shifted.entropy()).abs() < 1e-11);
        let change = original.entropy_change(&direction) - shifted.entropy_change(&direction);
        prop_assert!(change.abs() < 1e-11, "{change:e}");
    }

    /// A constant added to a step or to an advantage cancels, for either rule.
    #[test]
    fn shifting_the_advantage_changes_no_entropy(
        (logits, advantage) in logits_and_direction(),
        shift in -10.0..10.0,
    ) {
        let policy = policy(&logits);
        let shifted = added(&advantage, &vec![shift; advantage.len()]);
        for rule in [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient] {
            let change = |advantage: &[f64]| policy.entropy_change(&rule.step(&policy, advantage, 0.1));
            let difference = change(&advantage) - change(&shifted);
            prop_assert!(difference.abs() < 1e-14, "{rule:?}: {difference:e}");
        }
    }

    #[test]
    fn renaming_the_actions_changes_nothing((logits, direction) in logits_and_direction()) {
        let reversed = |values: &[f64]| values.iter().rev().copied().collect::<Vec<f64>>();
        let (original, renamed) = (policy(&logits), policy(&reversed(&logits)));
        prop_assert!((original.entropy() - renamed.entropy()).abs() < 1e-14);
        let change = original.entropy_change_first_order(&direction);
        let renamed = renamed.entropy_change_first_order(&reversed(&direction));
        prop_assert!((change - renamed).abs() < 1e-14);
    }

    /// A constant advantage moves nothing, and renaming the actions no figure of an update.
    #[test]
    fn updates_know_neither_constants_nor_names(
        (logits, advantage) in logits_and_direction(),
        constant in -100.0..100.0,
        eta in 1e-6..1.0,
    ) {
        let reversed = |values: &[f64]| values.iter().rev().copied().collect::<Vec<f64>>();
        for rule in [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient] {
            let effect = |logits: &[f64], advantage: &[f64]| {
                UpdateEffect::new(logits, advantage, eta, rule).expect("finite inputs")
            };
            let still = effect(&logits, &vec![constant; logits.len()]);
            prop_assert!(still.delta == 0.0 && still.covariance == 0.0, "{still:?}");
            prop_assert!(still.remainder == 0.0 && still.remainder_bound == 0.0, "{still:?}");

            let original = effect(&logits, &advantage);
            let renamed = effect(&reversed(&logits), &reversed(&advantage));
            for (a, b) in [
                (original.delta, renamed.delta),
                (original.covariance, renamed.covariance),
                (original.remainder, renamed.remainder),
                (original.kl_new_old, renamed.kl_new_old),
            ] {
                prop_assert!((a - b).abs() <= 1e-13 * original.entropy_before.max(a.abs()));
            }
        }
    }

    /// Half a step leaves a quarter of the error of Lemma 1 and an eighth of that of the second
    /// order, wherever the next term leads what is left.
    #[test]
    fn each_order_leaves_the_next((logits, direction) in logits_and_direction()) {
        let policy = policy(&logits);
        let (coarse, fine) = (scaled(&direction, 2e-3), scaled(&direction, 1e-3));
        let errors = |step: &[f64]| {
            let second = policy.entropy_change(step) - policy.entropy_change_second_order(step);
            [policy.first_order_remainder(step), second]
        };
        let leading = [
            0.5 * policy.entropy_curvature(&coarse),
            policy.entropy_third_derivative(&coarse) / 6.0,
        ];
        let rounding = 1e-15 * policy.entropy_change(&coarse).abs();
        for (order, leading) in leading.into_iter().enumerate() {
            let (coarse, fine) = (errors(&coarse)[order], errors(&fine)[order]);
            let leads = (coarse - leading).abs() < 0.01 * leading.abs();
            if leads && fine.abs() > 1e3 * rounding {
                let (ratio, factor) = (coarse / fine, [4.0, 8.0][order]);
                prop_assert!((ratio - factor).abs() < 0.03 * factor, "order {order}: {ratio}");
            }
        }
    }

    /// The change agrees with the difference of two entropies wherever that has digits left.
    #[test]
    fn entropy_change_is_the_difference_of_entropies(
        (logits, direction) in logits_and_direction(),
        scale in 0.01..20.0,
    ) {
        let before = policy(&logits);
        let step = scaled(&direction, scale);
        let difference = policy(&added(&logits, &step)).entropy() - before.entropy();
        prop_assert!((before.entropy_change(&step) - difference).abs() < 1e-13);
    }

    /// Neither bound is ever violated, whatever the size of the step.
    #[test]
    fn bounds_hold_for_any_step(
        (logits, direction) in logits_and_direction(),
        exponent in -9.0..2.0,
    ) {
        let policy = policy(&logits);
        let step = scaled(&direction, 10f64.powf(exponent));
        let remainder = policy.first_order_remainder(&step).abs();
        let rounding = 1e-15 * policy.entropy();
        let slack = if exponent > -1.0 { rounding } else { 0.0 };
        prop_assert!(remainder <= policy.remainder_bound(&step) + slack);
        prop_assert!(remainder <= policy.local_remainder_bound(&step) + slack);
    }

    #[test]
    fn remainder_is_what_lemma_1_leaves_out(
        (logits, direction) in logits_and_direction(),
        scale in 0.1..5.0,
    ) {
        let policy = policy(&logits);
        let step = scaled(&direction, scale);
        let difference = policy.entropy_change(&step) - policy.entropy_change_first_order(&step);
        prop_assert!((policy.first_order_remainder(&step) - difference).abs() < 1e-12);
    }

    #[test]
    fn vjps_are_the_derivatives((logits, _) in logits_and_direction(), weight in -2.0..2.0) {
        let here = policy(&logits);
        let action = logits.len() / 2;
        let mut d_logits = vec![0.0; logits.len()];
        here.vjp_log_prob(action, weight, &mut d_logits);
        let expected = central_difference(&logits, |policy| weight * policy.log_probs()[action]);
        for (actual, expected) in std::iter::zip(&d_logits, expected) {
            prop_assert!((actual - expected).abs() < 1e-8, "{actual} vs {expected}");
        }

        let mut d_logits = vec![0.0; logits.len()];
        here.vjp_entropy(weight, &mut d_logits);
        let expected = central_difference(&logits, |policy| weight * policy.entropy());
        for (actual, expected) in std::iter::zip(&d_logits, expected) {
            prop_assert!((actual - expected).abs() < 1e-8, "{actual} vs {expected}");
        }
    }

    /// The policy-gradient step is the gradient of the expected advantage.
    #[test]
    fn policy_gradient_is_the_gradient_of_the_mean((logits, advantage) in logits_and_direction()) {
        let step = UpdateRule::PolicyGradient.step(&policy(&logits), &advantage, 1.0);
        let expected = central_difference(&logits, |policy| policy.mean(&advantage));
        for (actual, expected) in std::iter::zip(step, expected) {
            prop_assert!((actual - expected).abs() < 1e-8, "{actual} vs {expected}");
        }
    }

    /// The mean of the token covariances is the covariance of the two columns.
    #[test]
    fn token_covariances_average_to_the_covariance(
        (advantage, log_prob) in logits_and_direction(),
    ) {
        let tokens = token_covariances(&advantage, &log_prob);
        let moments = PairedMoments::of(&advantage, &log_prob);
        let expected = moments.covariance().expect("there are tokens");
        prop_assert!((CovarianceSummary::of(&tokens).mean - expected).abs() < 1e-14);
    }

    #[test]
    fn narrower_tops_have_larger_means(covariances in prop::collection::vec(-5.0..5.0f64, 1..3000)) {
        let summary = CovarianceSummary::of(&covariances);
        for pair in summary.top_means.windows(2) {
            prop_assert!(pair[0].mean >= pair[1].mean - 1e-12, "{pair:?}");
        }
        let last = summary.top_means.last().expect("there are fractions");
        prop_assert!((last.mean - summary.mean).abs() < 1e-12);
    }
}

/// Log-log slopes of what each order leaves, where the orders neither vanish nor cancel.
#[test]
fn errors_fall_with_the_order_of_the_expansion() {
    let policy = policy(&[0.4, -1.1, 2.0, 0.0, -0.6]);
    let direction = [1.0, -0.5, 0.25, 2.0, -1.0];
    let errors = |eta: f64| {
        let step = scaled(&direction, eta);
        let change = policy.entropy_change(&step);
        [
            change - policy.entropy_change_first_order(&step),
            change - policy.entropy_change_second_order(&step),
            change - policy.entropy_change_third_order(&step),
        ]
    };
    let (coarse, fine) = (errors(2e-3), errors(1e-3));
    for (order, (coarse, fine)) in std::iter::zip(coarse, fine).enumerate() {
        let slope = (coarse / fine).abs().log2();
        let expected = order as f64 + 2.0;
        assert!((slope - expected).abs() < 0.02, "order {order}: slope {slope}");
    }
}

#[test]
fn vjps_add_to_what_is_there() {
    let policy = policy(&[0.5, -1.0, 0.25]);
    let mut once = vec![0.0; 3];
    policy.vjp_log_prob(1, 0.5, &mut once);
    policy.vjp_entropy(-0.25, &mut once);
    let mut onto = vec![10.0, 20.0, 30.0];
    policy.vjp_log_prob(1, 0.5, &mut onto);
    policy.vjp_entropy(-0.25, &mut onto);
    for (k, (onto, once)) in std::iter::zip(onto, once).enumerate() {
        let start = 10.0 * (k as f64 + 1.0);
        assert!((onto - start - once).abs() < 1e-14);
    }
}

#[test]
fn impossible_actions_take_part_in_nothing() {
    let masked = policy(&[0.3, f64::NEG_INFINITY, -1.0]);
    let plain = policy(&[0.3, -1.0]);
    assert_eq!(masked.entropy().to_bits(), plain.entropy().to_bits());
    let (masked_step, plain_step) = ([0.1, f64::NAN, -0.2], [0.1, -0.2]);
    let pairs = [
        (masked.entropy_change(&masked_step), plain.entropy_change(&plain_step)),
        (
            masked.entropy_change_second_order(&masked_step),
            plain.entropy_change_second_order(&plain_step),
        ),
        (masked.first_order_remainder(&masked_step), plain.first_order_remainder(&plain_step)),
        (masked.remainder_bound(&masked_step), plain.remainder_bound(&plain_step)),
        (masked.local_remainder_bound(&masked_step), plain.local_remainder_bound(&plain_step)),
    ];
    for (masked, plain) in pairs {
        assert_eq!(masked.to_bits(), plain.to_bits(), "{masked} vs {plain}");
    }
    let mut d_logits = [0.0; 3];
    masked.vjp_log_prob(0, 1.0, &mut d_logits);
    masked.vjp_entropy(1.0, &mut d_logits);
    assert_eq!(d_logits[1].to_bits(), 0.0f64.to_bits());
}

#[test]
fn a_single_action_has_no_entropy_to_change() {
    for logits in [vec![-3.0], vec![f64::NEG_INFINITY, 5.0]] {
        let policy = policy(&logits);
        let step = vec![7.0; logits.len()];
        let figures = [
            policy.entropy(),
            policy.entropy_change(&step),
            policy.entropy_change_first_order(&step),
            policy.remainder_bound(&step),
            policy.local_remainder_bound(&step),
        ];
        assert!(figures.iter().all(|figure| figure.abs() == 0.0), "{figures:?}");
    }
}

#[test]
fn logits_that_define_no_distribution_are_named() {
    let message = |logits: &[f64]| match Categorical::from_logits(logits) {
        Ok(policy) => panic!("{policy:?}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(message(&[]), "no logits: a distribution needs at least one action");
    assert_eq!(message(&[0.0, f64::NAN]), "logit 1 is NaN; logits must be finite or -inf");
    assert_eq!(message(&[f64::INFINITY]), "logit 0 is inf; logits must be finite or -inf");
    assert_eq!(
        message(&[f64::NEG_INFINITY; 2]),
        "all 2 logits are -inf: no action has positive probability"
    );
}
