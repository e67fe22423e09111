//! Entropy bonus and reference penalties: their steps and their first-order effect on the entropy.

use super::order;
use super::vectors::{self, largest, largest_gap, numerical_gradient, over_states, scaled};
use crate::population::State;
use crate::report::Row;
use entropy_core::{Categorical, UpdateRule, logit_step, predicted_change};
use rl_losses::entropy_bonus;

const RULES: [UpdateRule; 2] = [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient];

/// A term of the objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Term {
    /// `+H(π)`.
    EntropyBonus,
    /// `-KL(π ‖ π_ref)`.
    KlToReference,
    /// `-KL(π_ref ‖ π)`.
    KlFromReference,
}

/// First-order change of entropy from the term, per unit of step size and coefficient.
///
/// # Panics
///
/// If one of the two policies lacks an action of the other.
pub fn predict(term: Term, rule: UpdateRule, policy: &Categorical, reference: &Categorical) -> f64 {
    match term {
        Term::EntropyBonus => predicted_change::entropy_bonus(policy, rule, 1.0, 1.0),
        Term::KlToReference | Term::KlFromReference => {
            policy.entropy_change_first_order(&step(term, rule, policy, reference))
        }
    }
}

/// The step of the term, for a coefficient and a step size of 1.
fn step(term: Term, rule: UpdateRule, policy: &Categorical, reference: &Categorical) -> Vec<f64> {
    match term {
        Term::EntropyBonus => logit_step::entropy_bonus(policy, rule, 1.0, 1.0),
        Term::KlToReference => logit_step::kl_to_reference(policy, reference, rule, 1.0, 1.0)
            .expect("both have the same support"),
        Term::KlFromReference => logit_step::kl_from_reference(policy, reference, 1.0, 1.0)
            .expect("both have the same support"),
    }
}

/// Checks `predict` against exact changes, and the steps against numerical gradients and the bonus
/// of the losses.
pub fn check(
    states: &[State],
    predict: fn(Term, UpdateRule, &Categorical, &Categorical) -> f64,
) -> Vec<Row> {
    let of_loss = over_states(states, |state| loss_gap(&state.policy));
    let gaps = |state: &State| {
        let reference = reference(state);
        [Term::EntropyBonus, Term::KlToReference, Term::KlFromReference]
            .map(|term| gradient_gap(term, &state.policy, &reference))
    };
    let gaps = over_states(states, gaps).concat();
    let mut rows = vec![
        Row::of("entropy bonus: step of the loss, gap to closed form", 1e-14, of_loss)
            .by("rl_losses::entropy_bonus through the softmax, against logit_step::entropy_bonus"),
        Row::of("steps of bonus and penalties: gap to numerical gradients", 1e-8, gaps).by(
            "differences of fourth order; gap over 1 + range of the log-ratios to the reference",
        ),
    ];
    for (term, what) in [
        (Term::EntropyBonus, "error, entropy bonus"),
        (Term::KlToReference, "error, KL(π‖ref)"),
        (Term::KlFromReference, "error, KL(ref‖π)"),
    ] {
        let rules = if term == Term::KlFromReference { &RULES[..1] } else { &RULES[..] };
        let read = |state: &State| -> Vec<Option<f64>> {
            let (policy, reference) = (&state.policy, reference(state));
            let read = |rule: &UpdateRule| {
                let predicted = predict(term, *rule, policy, &reference);
                order::slope_along(policy, &step(term, *rule, policy, &reference), predicted)
            };
            rules.iter().map(read).collect()
        };
        let readings = over_states(states, read).concat();
        rows.extend(order::rows(what, 2, readings));
    }
    rows
}

/// A reference with the support of the policy: its logits shrunk and moved.
fn reference(state: &State) -> Categorical {
    let logits: Vec<f64> = std::iter::zip(state.policy.centred_log_probs(), &state.advantage)
        .map(|(c, a)| 0.7 * c + a)
        .collect();
    vectors::policy(&logits)
}

/// The bonus as the trainer has it, through the entropy of the policy, against the closed form.
fn loss_gap(policy: &Categorical) -> f64 {
    let (_, slopes) = entropy_bonus(1.0, &[policy.entropy()], &[1.0]);
    let mut gradient = vec![0.0; policy.actions()];
    policy.vjp_entropy(slopes[0], &mut gradient);
    let closed = logit_step::entropy_bonus(policy, UpdateRule::PolicyGradient, 1.0, 1.0);
    largest_gap(&scaled(&gradient, -1.0), &closed)
}

/// Largest gap between the policy-gradient step of a term and the numerical gradient of it.
fn gradient_gap(term: Term, policy: &Categorical, reference: &Categorical) -> f64 {
    let numerical = numerical_gradient(policy.centred_log_probs(), |logits| {
        let moved = vectors::policy(logits);
        match term {
            Term::EntropyBonus => moved.entropy(),
            Term::KlToReference => -moved.relative_entropy(reference),
            Term::KlFromReference => -reference.relative_entropy(&moved),
        }
    });
    let closed = step(term, UpdateRule::PolicyGradient, policy, reference);
    let log_ratios: Vec<f64> = std::iter::zip(policy.log_probs(), reference.log_probs())
        .map(|(p, q)| if *p > f64::NEG_INFINITY { p - q } else { 0.0 })
        .collect();
    largest_gap(&numerical, &closed) / (1.0 + largest(&log_ratios))
}
