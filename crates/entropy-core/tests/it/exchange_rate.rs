//! Reward gained per entropy spent in an update: the slope that the R-H law says is `-a e^H`.

use entropy_core::logit_step::UpdateRule;
use entropy_core::{Categorical, ExchangeRate};

/// The slope of a short step, measured.
#[test]
fn the_rate_is_the_slope_of_reward_against_entropy() {
    let policy = Categorical::from_logits(&[0.5, -1.0, 2.0, 0.0]).unwrap();
    let reward = [1.0, -0.5, 0.25, 2.0];
    for rule in [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient] {
        let step = rule.step(&policy, &reward, 1e-6);
        let logits: Vec<f64> =
            std::iter::zip(policy.log_probs(), &step).map(|(z, d)| z + d).collect();
        let moved = Categorical::from_logits(&logits).unwrap();
        let gain = moved.mean(&reward) - policy.mean(&reward);
        let measured = gain / policy.entropy_change(&step);
        let rate = ExchangeRate::of(&policy, &reward, rule);
        let slope = rate.reward / rate.entropy;
        assert!((slope / measured - 1.0).abs() < 1e-5, "{rule:?}: {slope} vs {measured}");
    }
}

#[test]
fn a_uniform_policy_has_no_rate() {
    let policy = Categorical::from_logits(&[1.0, 1.0]).unwrap();
    let rate = ExchangeRate::of(&policy, &[1.0, 0.0], UpdateRule::NaturalPolicyGradient);
    assert!(rate.entropy.abs() < 1e-15);
    assert!((rate.reward - 0.25).abs() < 1e-15);
}
