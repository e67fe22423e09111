//! Rollouts of a policy `μ` that is `n` updates older than the policy `π` they train: the mean step stays that of `π`, the
//! effects of Clip-Cov and KL-Cov do not grow with the age, and the covariance of the batch drifts by a third cumulant.
//! Derivation: `docs/theory.md#stale-rollouts`.

use super::order;
use super::token_loss::{Tokens, clip_cov, kl_cov};
use super::vectors::{largest, largest_gap, moved, over_states, range, scaled};
use crate::population::State;
use crate::report::Row;
use entropy_core::{Categorical, UpdateRule, logit_step, predicted_change};
use rl_losses::PolicyLoss;

/// Updates between the policy that samples and the one that learns.
const AGES: [usize; 4] = [1, 2, 4, 8];
/// Range of the logits of one update: after the last one no ratio has left the clip.
const STEP: f64 = 0.02;
const COEFFICIENT: f64 = 0.8;

/// Formulas to check.
#[derive(Debug, Clone, Copy)]
pub struct Formulas {
    /// First-order change of `ΔH` from detaching the tokens of the selected actions, per unit of step size: of `π`, `μ`,
    /// advantage and selected actions.
    pub clip_cov: fn(&Categorical, &Categorical, &[f64], &[bool]) -> f64,
    /// First-order change of `ΔH` from a penalty of coefficient 1 on their tokens.
    pub kl_cov: fn(&Categorical, &Categorical, &[bool]) -> f64,
    /// First-order change of `Cov(log π, A)` from taking it over `μ`, `drift` of the logits before `π`.
    pub covariance: fn(&Categorical, &[f64], &[f64]) -> f64,
}

/// Formulas of the theory.
pub const FORMULAS: Formulas = Formulas {
    clip_cov: |policy, _, advantage, selected| {
        let detached: Vec<f64> = selected.iter().map(|chosen| f64::from(*chosen)).collect();
        let rule = UpdateRule::PolicyGradient;
        predicted_change::detaching(policy, advantage, &detached, rule, 1.0)
    },
    kl_cov: |policy, old, selected| {
        let influence = policy.discriminators();
        let effect = |action: usize| {
            let log_ratio = policy.log_probs()[action] - old.log_probs()[action];
            let moves = selected[action] && log_ratio.abs() > 0.0;
            if moves { old.probs()[action] * log_ratio.signum() * influence[action] } else { 0.0 }
        };
        (0..policy.actions()).map(effect).sum()
    },
    covariance: |policy, advantage, drift| {
        let (mean, mean_drift) = (policy.mean(advantage), policy.mean(drift));
        let product = |action: usize| {
            let centred = policy.centred_log_probs()[action];
            let is_possible = policy.probs()[action] > 0.0;
            let of_possible = centred * (advantage[action] - mean) * (drift[action] - mean_drift);
            if is_possible { of_possible } else { 0.0 }
        };
        -policy.mean(&(0..policy.actions()).map(product).collect::<Vec<_>>())
    },
};

/// Checks the formulas against the losses that train the model, every action weighted by the policy that sampled.
pub fn check(states: &[State], formulas: &Formulas) -> Vec<Row> {
    let gaps = over_states(states, |state| AGES.map(|age| gaps(state, age, formulas))).concat();
    let row = |check: &str, part: usize| {
        Row::of(check, 1e-12, gaps.iter().map(move |gaps| gaps[part]))
            .by("1, 2, 4, 8 policy-gradient steps after μ; PolicyLoss::evaluate weighted by μ")
    };
    let mut rows = vec![
        row("mean step against η π (A - E_π A), gap", 0),
        row("Clip-Cov: effect against Σ π σ A G, gap", 1),
        row("KL-Cov: effect against β Σ μ σ sign(log ratio) G, gap", 2),
    ];
    let readings = over_states(states, |state| reading(state, formulas.covariance));
    rows.extend(order::rows("error of Cov over μ", 2, readings));
    rows
}

/// A policy-gradient step of the given range.
fn update(policy: &Categorical, advantage: &[f64], size: f64) -> Vec<f64> {
    let step = logit_step::policy_gradient(policy, advantage, 1.0);
    scaled(&step, size / range(policy, &step))
}

/// Gaps of the mean step, of Clip-Cov's effect and of KL-Cov's, `age` updates after the policy of the state.
fn gaps(state: &State, age: usize, formulas: &Formulas) -> [f64; 3] {
    let (old, advantage) = (&state.policy, &state.advantage);
    let policy = (0..age)
        .fold(old.clone(), |policy, _| moved(&policy, &update(&policy, advantage, STEP), 1.0));
    let tokens = Tokens::enumerated(&policy, old, advantage);
    let selected: Vec<bool> = (0..policy.actions()).map(|action| action % 3 != 1).collect();
    let chosen: Vec<bool> = tokens.actions.iter().map(|action| selected[*action]).collect();
    let none = vec![false; chosen.len()];
    let effect = |loss: &PolicyLoss| {
        let change = |selected: &[bool]| {
            let step = tokens.expected_step(loss, old, selected.to_vec());
            policy.entropy_change_first_order(&step)
        };
        change(&chosen) - change(&none)
    };
    let (clip_cov, kl_cov) = (clip_cov(0.5), kl_cov(0.5, COEFFICIENT));

    let step = tokens.expected_step(&clip_cov, old, none.clone());
    let closed = logit_step::policy_gradient(&policy, advantage, 1.0);
    let gap = largest_gap(&step, &closed);
    let (reward, influence) = (largest(advantage), largest(&policy.discriminators()));
    let detached = (formulas.clip_cov)(&policy, old, advantage, &selected);
    let penalised = COEFFICIENT * (formulas.kl_cov)(&policy, old, &selected);
    [
        gap / reward,
        (effect(&clip_cov) - detached).abs() / (reward * influence),
        (effect(&kl_cov) - penalised).abs() / ((COEFFICIENT + reward) * influence),
    ]
}

/// Order of the covariance over a policy before this one.
fn reading(state: &State, covariance: fn(&Categorical, &[f64], &[f64]) -> f64) -> Option<f64> {
    let (policy, advantage) = (&state.policy, &state.advantage);
    let drift = update(policy, advantage, 1.0);
    let covariance_over = |policy_of_batch: &Categorical| {
        policy_of_batch.covariance(policy.centred_log_probs(), advantage)
    };
    let slope = covariance(policy, advantage, &drift);
    order::slope(2, |size| {
        let old = moved(policy, &drift, -size);
        covariance_over(&old) - covariance_over(policy) - size * slope
    })
}
