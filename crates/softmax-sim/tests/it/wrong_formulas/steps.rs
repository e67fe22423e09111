//! Steps of the logits: Lemma 1, the theorems, identities, the bound, Proposition 1, signs.

use crate::wrong_formulas::{ORDER, assert_fails, failed, states};
use entropy_core::{Categorical, EntropyIdentities, StepDivergence, UpdateRule};
use softmax_sim::statement::{bound, identity, lemma1, proposition1, sign, theorems};

const BOUND: &str = "error over its bound";
const LOCAL_BOUND: &str = "error over its bound for peaked policies";

#[test]
fn higher_orders_that_are_one_per_cent_off_fail() {
    type Prediction = fn(&Categorical, &[f64]) -> f64;
    let predictions: [(u32, Prediction); 2] = [
        (3, Categorical::entropy_change_second_order),
        (4, Categorical::entropy_change_third_order),
    ];
    for (order, predict) in predictions {
        let right = lemma1::check_higher_order(&states(), order, predict);
        let lower = lemma1::check_higher_order(&states(), order, |policy, step| {
            let below = match order {
                3 => policy.entropy_change_first_order(step),
                _ => policy.entropy_change_second_order(step),
            };
            // One hundredth of the last term is missing.
            below + 0.99 * (predict(policy, step) - below)
        });
        assert!(failed(&right).is_empty(), "{right:#?}");
        assert!(!failed(&lower).is_empty(), "order {order}: {lower:#?}");
    }
}

#[test]
fn a_change_that_is_slightly_off_breaks_every_identity() {
    let right = identity::FORMULAS;
    assert!(failed(&identity::check(&states(), &right)).is_empty());
    let off = identity::Formulas {
        change: |policy, step| 1.000_001 * policy.entropy_change(step),
        ..right
    };
    assert_eq!(failed(&identity::check(&states(), &off)).len(), 6);
    // A plain difference of entropies passes the plain sums: it is only less exact for small steps.
    let naive = identity::Formulas {
        change: |policy, step| {
            let logits: Vec<f64> =
                std::iter::zip(policy.centred_log_probs(), step).map(|(c, u)| c + u).collect();
            let moved = Categorical::from_logits(&logits).map_or(f64::NAN, |moved| moved.entropy());
            moved - policy.entropy()
        },
        ..right
    };
    assert_eq!(
        failed(&identity::check(&states(), &naive)),
        [
            "first identity to rounding, relative gap",
            "second identity to rounding, relative gap",
            "third identity to rounding, relative gap",
        ]
    );
}

#[test]
fn identities_and_divergences_that_are_exchanged_fail() {
    let right = identity::FORMULAS;
    let exchanged = identity::Formulas {
        divergence: |policy, step| {
            let StepDivergence { new_from_old, old_from_new } = policy.step_divergence(step);
            StepDivergence { new_from_old: old_from_new, old_from_new: new_from_old }
        },
        ..right
    };
    let wrong = identity::check(&states(), &exchanged);
    assert_eq!(failed(&wrong), ["KL(q‖π) and KL(π‖q), relative gap"], "{wrong:#?}");
    let without = identity::Formulas {
        identities: |policy, step| {
            let StepDivergence { new_from_old, old_from_new } = policy.step_divergence(step);
            let forms = policy.entropy_change_identities(step);
            // The divergences are left out.
            EntropyIdentities {
                from_old: forms.from_old + new_from_old,
                from_new: forms.from_new - old_from_new,
                symmetric: forms.symmetric + 0.5 * (new_from_old - old_from_new),
            }
        },
        ..right
    };
    assert_eq!(failed(&identity::check(&states(), &without)).len(), 3);
}

#[test]
fn a_bound_of_half_the_size_is_violated() {
    let half = |policy: &Categorical, step: &[f64]| 0.5 * policy.remainder_bound(step);
    assert!(bound::check(0, 4000, Categorical::remainder_bound)[0].passed);
    assert!(!bound::check(0, 4000, half)[0].passed);
    // Without the logarithm of the actions it is too small as well.
    let constant = |policy: &Categorical, step: &[f64]| {
        policy.remainder_bound(step) * 0.25
            / (1.0 + (1.0 + 0.25 * ln_others(policy).powi(2)).sqrt())
            * 4.0
    };
    assert!(!bound::check(0, 40_000, constant)[0].passed);
}

fn ln_others(policy: &Categorical) -> f64 {
    (policy.support() as f64 - 1.0).ln()
}

#[test]
fn swapped_theorems_give_the_wrong_signs() {
    let swapped = |rule, policy: &Categorical, advantage: &[f64], eta| {
        let other = match rule {
            UpdateRule::PolicyGradient => UpdateRule::NaturalPolicyGradient,
            UpdateRule::NaturalPolicyGradient => UpdateRule::PolicyGradient,
        };
        other.predicted_entropy_change(policy, advantage, eta)
    };
    assert_fails(
        &sign::check(UpdateRule::predicted_entropy_change),
        &sign::check(swapped),
        &["sign of the prediction, disagreements"],
    );
}

#[test]
fn lemma_1_with_the_wrong_sign_fails() {
    let rows = lemma1::check(&states(), |policy, step| -policy.entropy_change_first_order(step));
    assert_eq!(failed(&rows), [ORDER, BOUND, LOCAL_BOUND]);
}

#[test]
fn lemma_1_that_is_slightly_off_fails() {
    let rows =
        lemma1::check(&states(), |policy, step| 1.01 * policy.entropy_change_first_order(step));
    let failed = failed(&rows);
    assert!([ORDER, BOUND, LOCAL_BOUND].iter().all(|check| failed.contains(check)), "{failed:?}");
}

#[test]
fn theorem_1_with_the_wrong_sign_fails() {
    let rows = theorems::check_theorem_1(&states(), |rule, policy, advantage, eta| {
        -rule.predicted_entropy_change(policy, advantage, eta)
    });
    assert!(failed(&rows).starts_with(&[ORDER, BOUND, LOCAL_BOUND]), "{rows:#?}");
}

#[test]
fn theorem_1_without_the_centring_fails() {
    let rows = theorems::check_theorem_1(&states(), |_, policy, advantage, eta| {
        let weighted: Vec<f64> =
            std::iter::zip(policy.probs(), advantage).map(|(p, a)| p * a).collect();
        -eta * policy.covariance(policy.log_probs(), &weighted)
    });
    assert!(failed(&rows).contains(&ORDER), "{rows:#?}");
}

#[test]
fn theorem_2_with_the_prediction_of_theorem_1_fails() {
    let rows = theorems::check_theorem_2(&states(), |_, policy, advantage, eta| {
        UpdateRule::PolicyGradient.predicted_entropy_change(policy, advantage, eta)
    });
    assert!(failed(&rows).contains(&ORDER), "{rows:#?}");
}

#[test]
fn theorem_2_with_the_wrong_sign_fails() {
    let rows = theorems::check_theorem_2(&states(), |rule, policy, advantage, eta| {
        -rule.predicted_entropy_change(policy, advantage, eta)
    });
    assert_eq!(failed(&rows), [ORDER, BOUND, LOCAL_BOUND]);
}

#[test]
fn proposition_1_with_the_natural_step_fails_every_check() {
    let rows = proposition1::check(&states(), 1, |policy, advantage, eta| {
        UpdateRule::NaturalPolicyGradient.step(policy, advantage, eta)
    });
    assert_eq!(failed(&rows).len(), rows.len(), "{rows:#?}");
}

#[test]
fn a_prediction_that_is_not_a_number_fails() {
    let rows = lemma1::check(&states(), |_, _| f64::NAN);
    assert_eq!(failed(&rows), [ORDER, BOUND, LOCAL_BOUND]);
    assert!(rows.iter().all(|row| row.worst.is_finite()));
}
