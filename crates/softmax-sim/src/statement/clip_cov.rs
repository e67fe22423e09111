//! Clip-Cov: detaching the gradient of a token of action `a` changes `ΔH` by `+η A_a G_a / N` to first
//! order, `G_a = π_a (log π_a + H) - κ`.

use super::order;
use super::token_loss::{Tokens, clip_cov};
use super::vectors::{largest, moments, over_states, sampled_actions, scaled};
use crate::population::State;
use crate::report::Row;
use entropy_core::{Categorical, predicted_change};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rl_losses::StepPlan;

const TOKENS: usize = 64;
/// Share of them that is dropped: six, where that many are eligible.
const FRACTION: f64 = 0.1;
/// Draws of the dropped tokens, for their mean effect.
const DRAWS: u64 = 200;

/// A formula like [`predict`].
pub type Predict = fn(&Categorical, &[f64], &[usize], usize) -> f64;

/// First-order change of `ΔH` from detaching the tokens of `actions`, of `count` in all, per unit of
/// step size; in nats.
pub fn predict(policy: &Categorical, advantage: &[f64], actions: &[usize], count: usize) -> f64 {
    let effect =
        |action: &usize| predicted_change::sampled(policy, *action, advantage[*action], 1.0);
    -actions.iter().map(effect).sum::<f64>() / count as f64
}

/// Checks `predict` against steps down the loss that trains the model, with and without selection.
pub fn check(states: &[State], seed: u64, predict: Predict) -> Vec<Row> {
    let findings = over_states(states, |state| finding(state, seed, predict));
    let findings: Vec<Finding> = findings.into_iter().flatten().collect();
    let gaps = findings.iter().map(|(gap, ..)| *gap);
    let deviations = findings.iter().filter_map(|(_, deviation, _)| *deviation);
    let mut rows = vec![
        Row::of("first-order effect of the dropped tokens, gap", 1e-13, gaps)
            .by("PolicyLoss::plan and evaluate on 64 sampled tokens; gap over the largest effect"),
        Row::of("mean effect over draws, in standard errors", 6.0, deviations)
            .by("200 plans of one batch against r N / n_c of the effect of all eligible tokens"),
    ];
    let orders = findings.iter().map(|(.., order)| *order);
    rows.extend(order::rows("error of the effect", 2, orders));
    rows.push(counter_example(predict));
    rows
}

/// Gap of the effect over the largest one, deviation of its mean over draws in standard errors, and order of the error.
type Finding = (f64, Option<f64>, Option<f64>);

/// Measures the effect in one state; none if no token is eligible.
fn finding(state: &State, seed: u64, predict: Predict) -> Option<Finding> {
    let (policy, advantage) = (&state.policy, &state.advantage);
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ state.logits[0].to_bits());
    let actions = sampled_actions(policy, TOKENS, &mut rng);
    let tokens = Tokens::new(policy, policy, advantage, actions);

    let loss = clip_cov(FRACTION);
    let eligible = loss.eligible(&tokens.batch()).expect("no further column is needed");
    if eligible.is_empty() {
        return None;
    }
    let effect_of = |selected: &[bool]| {
        let dropped = std::iter::zip(&tokens.actions, selected).filter(|(_, chosen)| **chosen);
        predict(policy, advantage, &dropped.map(|(a, _)| *a).collect::<Vec<_>>(), TOKENS)
    };
    let plan = tokens.plan(&loss, &mut rng);
    let weights = plan.weights();
    let with = tokens.step(&loss, &plan);
    let without = tokens.step(&loss, &StepPlan::new(vec![false; TOKENS], weights));

    let scale = largest(&policy.discriminators()) * largest(advantage);
    let (gap, order) = order::effect(policy, &with, &without, effect_of(&plan.selected()));

    let draws: Vec<f64> =
        (0..DRAWS).map(|_| effect_of(&tokens.plan(&loss, &mut rng).selected())).collect();
    let all: Vec<bool> = (0..TOKENS).map(|token| eligible.contains(&token)).collect();
    let count = plan.selected().iter().filter(|chosen| **chosen).count();
    let share = count as f64 / eligible.len() as f64;
    let (mean, variance) = moments(&draws);
    let standard_error = (variance / DRAWS as f64).sqrt();
    // Where all eligible tokens have one effect there is nothing to average.
    let deviation = (standard_error > 1e-12 * scale)
        .then(|| (mean - share * effect_of(&all)).abs() / standard_error);
    Some((gap / scale, deviation, order))
}

/// By hand: π = (.5, .45, .05), A = (0, 1, 0). The second arm has a positive covariance, 0.45 · .2107,
/// and Eq. 10 selects it; but under the policy gradient detaching it lowers the entropy, as
/// `G = -0.0095 / 0.45`.
fn counter_example(predict: Predict) -> Row {
    let policy = Categorical::from_logits(&[0.5f64, 0.45, 0.05].map(f64::ln)).expect("positive");
    let advantage = [0.0, 1.0, 0.0];
    let covariance = policy.covariance(policy.log_probs(), &advantage);
    let tokens = Tokens::enumerated(&policy, &policy, &advantage);
    let loss = clip_cov(FRACTION);
    let step = |selected: bool| tokens.expected_step(&loss, &policy, vec![false, selected, false]);
    let change = |selected: bool| policy.entropy_change(&scaled(&step(selected), 0.1));
    let effect = policy.probs()[1] * predict(&policy, &advantage, &[1], 1);
    let holds = covariance > 0.0 && effect < 0.0 && change(true) < change(false);
    Row::of("detaching Cov > 0 can lower H, by hand: misses", 0.0, [f64::from(!holds)]).by(
        "π = (.5, .45, .05), A = (0, 1, 0): the covariance is positive, the effect on H negative",
    )
}
