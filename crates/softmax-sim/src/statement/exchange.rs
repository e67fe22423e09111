//! Reward gained per entropy spent by a step, and the split of entropy over right and wrong actions.

use super::order;
use super::vectors::{over_states, range};
use crate::population::State;
use crate::report::Row;
use entropy_core::{BinarySplit, Categorical, ExchangeRate, NaturalFlow, UpdateRule};

/// Times along the natural flow.
const TIMES: [f64; 3] = [0.1, 1.0, 4.0];

/// Rates of reward and entropy of one state, per unit of step size.
pub type Rate = fn(&Categorical, &[f64], UpdateRule) -> ExchangeRate;

/// Entropy in three parts.
pub type Split = fn(&Categorical, &[bool]) -> BinarySplit;

/// Checks the rates by the order of their error, and the split against the policy it is of.
pub fn check(states: &[State], rate: Rate, split: Split) -> Vec<Row> {
    let read = |state: &State| {
        [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient]
            .map(|rule| reading(state, rule, rate))
    };
    let readings = over_states(states, read).concat();
    let mut rows = order::rows("error of ΔR", 2, readings);
    let parts = over_states(states, |state| {
        let split = split(&state.policy, &right(state));
        let covariance = state.policy.covariance(state.policy.centred_log_probs(), &reward(state));
        let entropy_gap = (split.entropy() - state.policy.entropy()).abs();
        [entropy_gap, (split.covariance() - covariance).abs()]
    });
    rows.push(
        Row::of("h(R) + R H_c + (1 - R) H_w: gap to H, and of Cov", 1e-13, parts.concat())
            .by("every second action is right; Cov(log π, reward) is R (1 - R) times the gap"),
    );
    let along = over_states(states, |state| flow_gaps(state, split)).concat();
    rows.push(
        Row::of("natural flow: logit R + t, same H_c and H_w, gap", 1e-12, along)
            .by("the split of the policy at t = 0.1, 1 and 4 against the split moved in time"),
    );
    rows
}

/// How the error of the predicted gain in reward falls with the step.
fn reading(state: &State, rule: UpdateRule, rate: Rate) -> Option<f64> {
    let (policy, advantage) = (&state.policy, &state.advantage);
    let unit = rule.step(policy, advantage, 1.0);
    let unit_range = range(policy, &unit);
    let rate = rate(policy, advantage, rule).reward / unit_range;
    order::slope(2, |size| gain(policy, &unit, size / unit_range, advantage) - size * rate)
}

/// `E_q A - E_π A = E_π[(q/π - 1) A]` after the part `scale` of the step, without cancellation.
fn gain(policy: &Categorical, step: &[f64], scale: f64, advantage: &[f64]) -> f64 {
    let tilt: Vec<f64> = step.iter().map(|step| (scale * step).exp_m1()).collect();
    policy.covariance(&tilt, advantage) / (1.0 + policy.mean(&tilt))
}

fn right(state: &State) -> Vec<bool> {
    (0..state.logits.len()).map(|action| action % 2 == 1).collect()
}

fn reward(state: &State) -> Vec<f64> {
    right(state).into_iter().map(f64::from).collect()
}

/// Gaps between the split of the policy that the flow has reached and the split moved in time.
fn flow_gaps(state: &State, split: Split) -> Vec<f64> {
    let flow = NaturalFlow::new(state.policy.clone(), &reward(state)).expect("rewards are finite");
    let start = split(&state.policy, &right(state));
    let gaps = |time: &f64| {
        let reached = split(&flow.policy_at(*time), &right(state));
        let moved = start.after(*time);
        let largest = moved.log_odds.abs().max(1.0);
        [
            (reached.log_odds - moved.log_odds).abs() / largest,
            (reached.entropy_right - moved.entropy_right).abs(),
            (reached.entropy_wrong - moved.entropy_wrong).abs(),
        ]
    };
    TIMES.iter().flat_map(gaps).collect()
}
