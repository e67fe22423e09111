//! Trajectories in closed form.

use crate::oracle::vectors::{check, list, number, numbers, oracle, policy};
use entropy_core::{BinarySplit, NaturalFlow, PolicyGradientFlow, logit_step};

#[test]
fn natural_flows_follow_their_closed_form() {
    let oracle = oracle();
    for flow in list(&oracle, "flows").iter().filter(|flow| flow["kind"] == "npg_closed_form") {
        let start = policy(&numbers(flow, "logits"));
        let reward = numbers(flow, "reward");
        for point in list(flow, "points") {
            let time = number(&point["t"]);
            let step = logit_step::natural_policy_gradient(&start, &reward, time);
            let logits: Vec<f64> =
                std::iter::zip(start.log_probs(), &step).map(|(l, s)| l + s).collect();
            let now = policy(&logits);
            check(point, now.entropy(), "H", 1e-12, 0.0);
            check(point, now.mean(&reward), "R", 1e-13, 0.0);
            check(point, now.covariance(&reward, &reward), "dRdt", 1e-12, 0.0);
            check(point, now.entropy_change_first_order(&reward), "dHdt", 1e-12, 1e-16);
            check(point, now.entropy_curvature(&reward), "d2Hdt2", 1e-11, 1e-16);
            let travelled = start.entropy() + start.entropy_change(&step);
            check(point, travelled, "H", 1e-12, 1e-15);
        }
    }
}

#[test]
fn a_natural_flow_is_the_natural_step_taken_at_once() {
    let oracle = oracle();
    for flow in list(&oracle, "flows").iter().filter(|flow| flow["kind"] == "npg_closed_form") {
        let start = policy(&numbers(flow, "logits"));
        let closed = NaturalFlow::new(start, &numbers(flow, "reward")).expect("finite rewards");
        for point in list(flow, "points") {
            let now = closed.at(number(&point["t"]));
            check(point, now.policy.entropy(), "H", 1e-12, 0.0);
            check(point, now.reward, "R", 1e-13, 0.0);
            check(point, now.reward_rate, "dRdt", 1e-12, 0.0);
            check(point, now.entropy_rate, "dHdt", 1e-12, 1e-16);
        }
    }
}

#[test]
fn regularised_natural_flows_follow_their_closed_form() {
    let oracle = oracle();
    let kind = "npg_regularised_closed_form";
    let flows: Vec<_> = list(&oracle, "flows").iter().filter(|f| f["kind"] == kind).collect();
    assert!(!flows.is_empty());
    for flow in flows {
        let reference = policy(&numbers(flow, "ref_logits"));
        let closed = NaturalFlow::new(policy(&numbers(flow, "logits")), &numbers(flow, "reward"))
            .and_then(|flow_| flow_.with_entropy_bonus(number(&flow["alpha"])))
            .and_then(|flow_| flow_.with_reference(reference.clone(), number(&flow["beta"])))
            .expect("the oracle's flows are valid");
        for point in list(flow, "points") {
            let now = closed.at(number(&point["t"]));
            check(point, now.policy.entropy(), "H", 1e-12, 0.0);
            check(point, now.reward, "R", 1e-12, 0.0);
            check(point, now.entropy_rate, "dHdt", 1e-11, 1e-15);
            check(point, now.policy.relative_entropy(&reference), "KL_ref", 1e-12, 1e-16);
        }
    }
}

#[test]
fn two_arms_follow_the_policy_gradient_flow() {
    let oracle = oracle();
    let kind = "pg_two_arm_closed_form";
    let flows: Vec<_> = list(&oracle, "flows").iter().filter(|f| f["kind"] == kind).collect();
    assert!(!flows.is_empty());
    for flow in flows {
        let gap = number(&flow["Delta"]);
        let closed = PolicyGradientFlow::new(1, 1, number(&flow["x0"]), gap).expect("valid");
        for point in list(flow, "points") {
            let time = number(&point["t"]);
            check(point, closed.log_ratio_at(time), "x", 1e-13, 1e-15);
            let now = closed.policy_at(time);
            check(point, now.probs()[0], "p_best", 1e-13, 0.0);
            check(point, now.entropy(), "H", 1e-13, 0.0);
            let velocity = logit_step::policy_gradient(&now, &[gap, 0.0], 1.0);
            let rate = now.entropy_change_first_order(&velocity);
            check(point, rate, "dHdt", 1e-12, 1e-16);
        }
    }
}

#[test]
fn equal_arms_of_two_kinds_follow_the_policy_gradient_flow() {
    let oracle = oracle();
    let kind = "pg_k_correct_closed_form";
    let flows: Vec<_> = list(&oracle, "flows").iter().filter(|f| f["kind"] == kind).collect();
    assert!(!flows.is_empty());
    for flow in flows {
        let count = |name: &str| {
            usize::try_from(flow[name].as_u64().expect("a count")).expect("a small count")
        };
        let (right, wrong) = (count("k"), count("m"));
        let closed =
            PolicyGradientFlow::new(right, wrong, number(&flow["x0"]), 1.0).expect("valid");
        let is_right: Vec<bool> = (0..right + wrong).map(|action| action < right).collect();
        for point in list(flow, "points") {
            let time = number(&point["t"]);
            check(point, closed.log_ratio_at(time), "x", 1e-13, 1e-15);
            let now = closed.policy_at(time);
            check(point, now.entropy(), "H", 1e-13, 0.0);
            let split = BinarySplit::of(&now, &is_right);
            check(point, split.success(), "R", 1e-13, 0.0);
            check(point, split.entropy(), "H", 1e-13, 0.0);
        }
    }
}

#[test]
fn repeated_policy_gradient_steps_agree() {
    let oracle = oracle();
    let flows = list(&oracle, "flows").iter().filter(|f| f["kind"] == "discrete_pg");
    for flow in flows {
        let mut logits = numbers(flow, "logits");
        let (reward, eta) = (numbers(flow, "reward"), number(&flow["eta"]));
        let mut done = 0;
        for point in list(flow, "points") {
            while Some(done) < point["k"].as_u64() {
                let step = logit_step::policy_gradient(&policy(&logits), &reward, eta);
                logits.iter_mut().zip(step).for_each(|(z, d)| *z += d);
                done += 1;
            }
            check(point, policy(&logits).entropy(), "H", 1e-12, 0.0);
            check(point, policy(&logits).mean(&reward), "R", 1e-12, 0.0);
        }
    }
}
