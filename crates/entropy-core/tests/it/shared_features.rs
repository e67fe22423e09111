//! Policies whose states share weights.

use entropy_core::{
    Categorical, FeatureState, StateFeatures, UpdateRule, compatible_weights,
    shared_policy_gradient,
};
use proptest::prelude::*;

/// Features of two states, shared weights, advantages of the states.
type TwoStates = (Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>, Vec<f64>);

/// Two states of 4 and 3 actions with 3 features, and their advantages.
fn two_states() -> impl Strategy<Value = TwoStates> {
    let column = |length| prop::collection::vec(-1.5..1.5, length);
    (column(12), column(9), column(3), column(4), column(3))
}

fn policy(features: &StateFeatures, weights: &[f64]) -> Categorical {
    features.policy(weights).expect("finite logits")
}

fn moved(weights: &[f64], direction: &[f64], width: f64) -> Vec<f64> {
    std::iter::zip(weights, direction).map(|(w, d)| w + width * d).collect()
}

proptest! {
    /// One shared step of the weights: the entropy of each state answers the sum of interferences,
    /// and Lemma 1 with the logit step that the features make of it.
    #[test]
    fn states_interfere_as_their_features_overlap((a, b, weights, up, down) in two_states()) {
        let features = [a, b].map(|values| StateFeatures::new(values, 3).expect("whole rows"));
        let policies = [0, 1].map(|s: usize| policy(&features[s], &weights));
        let advantages = [up, down];
        let states = [0, 1].map(|s: usize| FeatureState {
            visits: [0.5, 2.0][s],
            features: &features[s],
            policy: &policies[s],
            advantage: &advantages[s],
        });
        let gradient = shared_policy_gradient(&states);
        let objective = |weights: &[f64]| -> f64 {
            (0..2)
                .map(|s| states[s].visits * policy(&features[s], weights).mean(&advantages[s]))
                .sum()
        };
        for (k, component) in gradient.iter().enumerate() {
            let unit: Vec<f64> = (0..3).map(|j| if j == k { 1.0 } else { 0.0 }).collect();
            let slope = (objective(&moved(&weights, &unit, 1e-5))
                - objective(&moved(&weights, &unit, -1e-5)))
                / 2e-5;
            prop_assert!((component - slope).abs() < 1e-8, "{component} vs {slope}");
        }
        for s in 0..2 {
            let answer: f64 =
                states.iter().map(|from| from.interference(&features[s], &policies[s])).sum();
            let lemma = policies[s].entropy_change_first_order(&features[s].logits(&gradient));
            prop_assert!((answer - lemma).abs() < 1e-12, "{answer} vs {lemma}");
            let entropy = |width| policy(&features[s], &moved(&weights, &gradient, width)).entropy();
            let slope = (entropy(1e-6) - entropy(-1e-6)) / 2e-6;
            prop_assert!((answer - slope).abs() < 1e-6, "{answer} vs {slope}");
        }
    }

    /// An advantage that the features can express is reached exactly: Theorem 2.
    #[test]
    fn realisable_advantages_are_recovered((a, b, weights, _, _) in two_states(), target in prop::collection::vec(-1.0..1.0, 3)) {
        let features = [a, b].map(|values| StateFeatures::new(values, 3).expect("whole rows"));
        let policies = [0, 1].map(|s: usize| policy(&features[s], &weights));
        let advantages = [0, 1].map(|s: usize| features[s].logits(&target));
        let states = [0, 1].map(|s: usize| FeatureState {
            visits: 1.0,
            features: &features[s],
            policy: &policies[s],
            advantage: &advantages[s],
        });
        let compatible = compatible_weights(&states);
        let natural = UpdateRule::NaturalPolicyGradient;
        for s in 0..2 {
            let change = policies[s].entropy_change_first_order(&features[s].logits(&compatible));
            let theorem = natural.predicted_entropy_change(&policies[s], &advantages[s], 1.0);
            prop_assert!((change - theorem).abs() < 1e-6, "{change} vs {theorem}");
        }
    }
}

/// With one indicator per action the weights are the logits, and all formulas the tabular ones.
#[test]
fn indicators_make_a_table() {
    let mut values = vec![0.0; 9];
    (0..3).for_each(|k| values[k * 4] = 1.0);
    let features = StateFeatures::new(values, 3).unwrap();
    let (weights, advantage) = ([0.3, -1.0, 0.8], [1.0, 0.0, -2.0]);
    let policy = policy(&features, &weights);
    let state =
        FeatureState { visits: 1.0, features: &features, policy: &policy, advantage: &advantage };
    let gradient = shared_policy_gradient(&[state]);
    let step = UpdateRule::PolicyGradient.step(&policy, &advantage, 1.0);
    for (component, expected) in std::iter::zip(&gradient, &step) {
        assert!((component - expected).abs() < 1e-15, "{component} vs {expected}");
    }
    // The Fisher information of a table is singular; the solution is the advantage up to a constant.
    let natural = compatible_weights(&[state]);
    let constants: Vec<f64> = std::iter::zip(&natural, advantage).map(|(w, a)| w - a).collect();
    assert!(constants.iter().all(|c| (c - constants[0]).abs() < 1e-12), "{constants:?}");
    assert!(compatible_weights(&[]).is_empty());
}

/// A state without any advantage loses entropy because another one learns.
#[test]
fn a_state_without_reward_is_moved_by_its_neighbour() {
    let features = StateFeatures::new(vec![1.0, 0.0], 1).unwrap();
    let policy = policy(&features, &[1.0]);
    let learns =
        FeatureState { visits: 1.0, features: &features, policy: &policy, advantage: &[1.0, 0.0] };
    assert!(learns.interference(&features, &policy) < -0.01);
}

#[test]
fn features_that_make_no_rows_are_named() {
    let message =
        |values: Vec<f64>, width| StateFeatures::new(values, width).unwrap_err().to_string();
    assert_eq!(message(vec![1.0; 5], 2), "`features` has 5 values; expected 6");
    assert_eq!(message(vec![], 2), "`features` has 0 values; expected 2");
    assert_eq!(message(vec![1.0], 0), "`width` is 0; expected at least 1");
    assert_eq!(
        message(vec![1.0, f64::NAN], 1),
        "`features` is NaN at position 1; expected a finite number"
    );
}

/// A third feature that is a sum of the others up to rounding: the weights stay small, and the logit step is the advantage up to a
/// constant.
#[test]
fn features_that_depend_on_each_other_leave_the_weights_finite() {
    let mut state = 1u64;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    for _ in 0..64 {
        let rows = (0..4).flat_map(|_| {
            let (one, other) = (draw(), draw());
            [one, other, 0.1 * one + 0.7 * other]
        });
        let features = StateFeatures::new(rows.collect(), 3).expect("whole rows");
        let policy = policy(&features, &[draw(), draw(), draw()]);
        let advantage = features.logits(&[1.0, -2.0, 0.5]);
        let state = FeatureState {
            visits: 1.0,
            features: &features,
            policy: &policy,
            advantage: &advantage,
        };
        let weights = compatible_weights(&[state]);
        assert!(weights.iter().all(|weight| weight.abs() < 10.0), "{weights:?}");
        let step = features.logits(&weights);
        for action in 1..4 {
            let gap = (step[action] - step[0]) - (advantage[action] - advantage[0]);
            assert!(gap.abs() < 1e-8, "{gap}");
        }
    }
}
