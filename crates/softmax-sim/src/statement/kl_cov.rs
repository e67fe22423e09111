//! KL-Cov as the codes have it: a penalty `β |log ratio|` on the selected tokens. Inert at ratio 1; away
//! from it a selected token of action `a` changes `ΔH` by `+η β sign(log ratio_a) G_a / N`.

use super::order;
use super::token_loss::{Tokens, kl_cov};
use super::vectors::{largest, largest_gap, moved, over_states, range, sampled_actions};
use crate::population::State;
use crate::report::Row;
use entropy_core::{Categorical, token_covariances};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const TOKENS: usize = 64;
/// Share of them that is penalised: six.
const FRACTION: f64 = 0.1;
const COEFFICIENT: f64 = 0.8;
/// Range of the logits between the policy that sampled and the one being updated.
const DRIFT: f64 = 0.3;

/// A formula like [`predict`].
pub type Predict = fn(&Categorical, f64, &[(usize, f64)], usize) -> f64;

/// First-order change of `ΔH` from the penalty, per unit of step size: `selected` holds action and
/// log-ratio of each penalised token, of `count` tokens in all; in nats.
pub fn predict(
    policy: &Categorical,
    coefficient: f64,
    selected: &[(usize, f64)],
    count: usize,
) -> f64 {
    let influence = policy.discriminators();
    let sign = |log_ratio: f64| if log_ratio == 0.0 { 0.0 } else { log_ratio.signum() };
    let effect: f64 =
        selected.iter().map(|(action, log_ratio)| sign(*log_ratio) * influence[*action]).sum();
    coefficient * effect / count as f64
}

/// Checks `predict` against steps down the loss that trains the model, with and without penalty.
pub fn check(states: &[State], seed: u64, predict: Predict) -> Vec<Row> {
    let findings = over_states(states, |state| finding(state, seed, predict));
    let row = |part: usize, check: &str, allowed: f64| {
        Row::of(check, allowed, findings.iter().map(|(parts, _)| parts[part]))
    };
    let mut rows = vec![
        row(0, "penalty at ratio 1: change of the step", 0.0)
            .by("PolicyLoss::plan and evaluate on 64 sampled tokens, with β = 0.8 and β = 0"),
        row(1, "first-order effect of the penalised tokens, gap", 1e-13)
            .by("after a drift of the logits of range 0.3; gap over the largest effect"),
        row(2, "penalised tokens not of highest covariance", 0.0)
            .by("each one's covariance (Eq. 10) against the highest of the others"),
    ];
    let orders = findings.iter().map(|(_, order)| *order);
    rows.extend(order::rows("error of the effect", 2, orders));
    rows
}

/// Change of the step by the penalty at ratio 1, gap of its effect, tokens missed, and the order of the prediction.
fn finding(state: &State, seed: u64, predict: Predict) -> ([f64; 3], Option<f64>) {
    let (old, advantage) = (&state.policy, &state.advantage);
    let unit = DRIFT / range(old, &state.direction);
    let policy = &moved(old, &state.direction, unit);
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ state.logits[0].to_bits());
    let actions = sampled_actions(old, TOKENS, &mut rng);

    let (penalised, without_penalty) = (kl_cov(FRACTION, COEFFICIENT), kl_cov(FRACTION, 0.0));
    let on_policy = Tokens::new(old, old, advantage, actions.clone());
    let plan = on_policy.plan(&penalised, &mut rng);
    let inert =
        largest_gap(&on_policy.step(&penalised, &plan), &on_policy.step(&without_penalty, &plan));

    let tokens = Tokens::new(policy, old, advantage, actions);
    let plan = tokens.plan(&penalised, &mut rng);
    let log_ratios: Vec<f64> = tokens.batch().log_ratios().collect();
    let selected: Vec<(usize, f64)> = (0..TOKENS)
        .filter(|token| plan.selected()[*token])
        .map(|token| (tokens.actions[token], log_ratios[token]))
        .collect();
    let (with, without) = (tokens.step(&penalised, &plan), tokens.step(&without_penalty, &plan));
    let predicted = predict(policy, COEFFICIENT, &selected, TOKENS);
    let (gap, order) = order::effect(policy, &with, &without, predicted);
    let scale = largest(&policy.discriminators()) * (COEFFICIENT + 2.0 * largest(advantage));
    ([inert, gap / scale, misses(&tokens, &plan.selected())], order)
}

/// Selected tokens whose covariance is below that of one left out.
fn misses(tokens: &Tokens<'_>, selected: &[bool]) -> f64 {
    let batch = tokens.batch();
    let covariances = token_covariances(batch.advantage(), batch.log_prob());
    let split = |chosen: bool| {
        std::iter::zip(&covariances, selected).filter(move |(_, s)| **s == chosen).map(|(c, _)| *c)
    };
    let highest_left = split(false).fold(f64::NEG_INFINITY, f64::max);
    let rounding = 1e-14 * largest(batch.log_prob()) * largest(batch.advantage());
    split(true).filter(|covariance| *covariance < highest_left - rounding).count() as f64
}
