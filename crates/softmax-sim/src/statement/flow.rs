//! The flows: update rules with vanishing steps, whose policies are known in closed form.

use super::vectors::{largest_gap, normals, number, numbers, policy, recorded, stream};
use crate::report::Row;
use entropy_core::{Categorical, NaturalFlow, PolicyGradientFlow, UpdateRule, same_curve_time};
use serde_json::Value;

const ACTIONS: usize = 5;
const CASES: u64 = 20;
const TIME: f64 = 3.0;
/// Steps of the integration; its error falls with their fourth power.
const STEPS: u32 = 600;

/// The closed forms that are checked.
#[derive(Debug, Clone, Copy)]
pub struct ClosedForms {
    /// Policy of a natural flow at a time.
    pub natural: fn(&NaturalFlow, f64) -> Categorical,
    /// Policy of a policy-gradient flow at a time.
    pub policy_gradient: fn(&PolicyGradientFlow, f64) -> Categorical,
    /// Time at which the flow without penalty is where the flow with penalty `β` is at `t`: `(β, t)`.
    pub same_curve_time: fn(f64, f64) -> f64,
}

/// Closed forms of `entropy-core`.
pub const CLOSED_FORMS: ClosedForms = ClosedForms {
    natural: |flow, time| flow.policy_at(time),
    policy_gradient: |flow, time| flow.policy_at(time),
    same_curve_time,
};

/// Checks closed forms against integrations of the update rules and against recorded values.
pub fn check(seed: u64, forms: &ClosedForms) -> Vec<Row> {
    let (mut natural, mut gradient, mut curve) = (Vec::new(), Vec::new(), Vec::new());
    for case in 0..CASES {
        let mut rng = stream(seed, 0x666c_6f77, case);
        let mut column = || normals(&mut rng, ACTIONS);
        let (logits, reference, reward) = (column(), column(), column());
        let coefficients = column();
        let (alpha, beta) = (0.3 * coefficients[0].abs(), 0.3 * coefficients[1].abs());
        let (start, reference) = (policy(&logits), policy(&reference));
        natural.push(natural_gap(&start, &reference, &reward, alpha, beta, forms));
        gradient.push(policy_gradient_gap(coefficients[2], coefficients[3], forms));
        curve.push(same_curve_gap(&start, &reward, 0.1 + beta, forms));
    }
    let by = "fourth-order Runge-Kutta on the steps of the update rule, 600 steps to t = 3";
    vec![
        Row::of("natural flow with bonus and penalty: gap of π", 1e-9, natural).by(by),
        Row::of("policy-gradient flow, 2 against 3 arms: gap of π", 1e-9, gradient).by(by),
        Row::of("KL penalty to the start: same curve, gap of π", 1e-13, curve)
            .by("the penalised flow at t is the plain one at (1 - exp(-β t)) / β"),
        Row::of("recorded H and R of 40 digits, relative gap", 1e-12, recorded_gaps(forms))
            .by("7 flows: natural, with bonus, with reference; policy gradient of 2 and 8 arms"),
    ]
}

fn gap(one: &Categorical, other: &Categorical) -> f64 {
    largest_gap(one.probs(), other.probs())
}

/// The policy after `TIME` on `ż = velocity(π)`.
fn integrate(start: &Categorical, velocity: impl Fn(&Categorical) -> Vec<f64>) -> Categorical {
    let h = TIME / f64::from(STEPS);
    let mut logits = start.log_probs().to_vec();
    for _ in 0..STEPS {
        let moved_velocity = |slope: &[f64], part: f64| {
            let moved: Vec<f64> =
                std::iter::zip(&logits, slope).map(|(z, k)| z + part * h * k).collect();
            velocity(&policy(&moved))
        };
        let first = velocity(&policy(&logits));
        let second = moved_velocity(&first, 0.5);
        let third = moved_velocity(&second, 0.5);
        let fourth = moved_velocity(&third, 1.0);
        for (action, logit) in logits.iter_mut().enumerate() {
            let middle = 2.0 * (second[action] + third[action]);
            *logit += h / 6.0 * (first[action] + middle + fourth[action]);
        }
    }
    policy(&logits)
}

fn natural_gap(
    start: &Categorical,
    reference: &Categorical,
    reward: &[f64],
    alpha: f64,
    beta: f64,
    forms: &ClosedForms,
) -> f64 {
    let flow = NaturalFlow::new(start.clone(), reward)
        .and_then(|flow| flow.with_entropy_bonus(alpha))
        .and_then(|flow| flow.with_reference(reference.clone(), beta))
        .expect("finite rewards, positive coefficients, full support");
    let velocity = |policy: &Categorical, a: usize| {
        let log_prob = policy.log_probs()[a];
        reward[a] - alpha * log_prob - beta * (log_prob - reference.log_probs()[a])
    };
    let integrated = integrate(start, |policy| (0..ACTIONS).map(|a| velocity(policy, a)).collect());
    gap(&(forms.natural)(&flow, TIME), &integrated)
}

fn policy_gradient_gap(log_ratio: f64, advantage: f64, forms: &ClosedForms) -> f64 {
    let flow = PolicyGradientFlow::new(2, 3, log_ratio, advantage).expect("finite numbers");
    let start = policy(&[log_ratio, log_ratio, 0.0, 0.0, 0.0]);
    let reward = [advantage, advantage, 0.0, 0.0, 0.0];
    let integrated =
        integrate(&start, |policy| UpdateRule::PolicyGradient.step(policy, &reward, 1.0));
    gap(&(forms.policy_gradient)(&flow, TIME), &integrated)
}

fn same_curve_gap(start: &Categorical, reward: &[f64], beta: f64, forms: &ClosedForms) -> f64 {
    let plain = NaturalFlow::new(start.clone(), reward).expect("finite rewards");
    let held = plain.clone().with_reference(start.clone(), beta).expect("the same support");
    let gaps = [0.1, 1.0, 10.0, 100.0].map(|time| {
        let held = (forms.natural)(&held, time);
        gap(&held, &(forms.natural)(&plain, (forms.same_curve_time)(beta, time)))
    });
    gaps.into_iter().fold(0.0, f64::max)
}

/// Relative gaps of entropy and reward at each recorded point.
fn recorded_gaps(forms: &ClosedForms) -> Vec<f64> {
    let relative = |computed: f64, expected: f64| (computed - expected).abs() / expected.abs();
    let mut gaps = Vec::new();
    for flow in recorded()["flows"].as_array().expect("a list") {
        for point in flow["points"].as_array().expect("a list") {
            let Some((policy, reward)) = state_at(flow, &point["t"], forms) else { break };
            gaps.push(relative(policy.entropy(), number(&point["H"])));
            let success = point.get("R").or_else(|| point.get("p_best"));
            gaps.extend(success.map(|value| relative(policy.mean(&reward), number(value))));
        }
    }
    gaps
}

/// Policy and rewards of a recorded flow at a time; none for a discrete path, which is no flow.
fn state_at(flow: &Value, time: &Value, forms: &ClosedForms) -> Option<(Categorical, Vec<f64>)> {
    let valid = "recorded inputs are valid";
    match flow["kind"].as_str()? {
        "npg_closed_form" | "npg_regularised_closed_form" => {
            let reward = numbers(&flow["reward"]);
            let coefficient = |key: &str| flow.get(key).map_or(0.0, number);
            let mut natural = NaturalFlow::new(policy(&numbers(&flow["logits"])), &reward)
                .and_then(|natural| natural.with_entropy_bonus(coefficient("alpha")));
            if coefficient("beta") > 0.0 {
                let reference = policy(&numbers(&flow["ref_logits"]));
                let held = |flow: NaturalFlow| flow.with_reference(reference, coefficient("beta"));
                natural = natural.and_then(held);
            }
            Some(((forms.natural)(&natural.expect(valid), number(time)), reward))
        }
        "pg_two_arm_closed_form" | "pg_k_correct_closed_form" => {
            let count = |key: &str| flow.get(key).and_then(Value::as_u64).unwrap_or(1);
            let [better, worse] = ["k", "m"].map(|key| usize::try_from(count(key)).expect(valid));
            let advantage = flow.get("Delta").map_or(1.0, number);
            let flow = PolicyGradientFlow::new(better, worse, number(&flow["x0"]), advantage);
            let reward = (0..better + worse).map(|arm| f64::from(arm < better)).collect();
            Some(((forms.policy_gradient)(&flow.expect(valid), number(time)), reward))
        }
        _ => None,
    }
}
