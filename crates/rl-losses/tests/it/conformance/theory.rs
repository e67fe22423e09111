//! Cases of the theory beneath the losses, which the crate takes from `entropy-core`.

use entropy_core::{Categorical, PerformanceLaw, UpdateRule};

use super::recorded::{Case, assert_all_close, assert_close, number, numbers};

pub(crate) fn entropy_theorem(case: &Case) {
    let logits = numbers(case.input("logits"));
    let policy = Categorical::from_logits(&logits).expect("finite logits");
    let reward = numbers(case.input("Q"));
    let value: f64 = std::iter::zip(policy.probs(), &reward).map(|(p, r)| p * r).sum();
    let advantage: Vec<f64> = reward.iter().map(|r| r - value).collect();
    assert_all_close(policy.probs(), &numbers(case.output("pi")), "probabilities");
    assert_close(policy.entropy(), number(case.output("H")), "entropy");
    assert_all_close(&advantage, &numbers(case.output("advantage")), "advantages");
    let by_eta = case.output("by_eta").as_object().expect("one entry per step size");
    for (eta, expected) in by_eta {
        let eta: f64 = eta.parse().expect("a step size");
        for (rule, name) in
            [(UpdateRule::PolicyGradient, "pg"), (UpdateRule::NaturalPolicyGradient, "npg")]
        {
            let predicted = rule.predicted_entropy_change(&policy, &advantage, eta);
            let step = rule.step(&policy, &advantage, eta);
            let moved: Vec<f64> = std::iter::zip(&logits, step).map(|(z, dz)| z + dz).collect();
            let after = Categorical::from_logits(&moved).expect("finite logits").entropy();
            let recorded = |what: &str| number(&expected[format!("{name}_{what}")]);
            assert_close(predicted / recorded("pred"), 1.0, &format!("{name} predicted at {eta}"));
            assert_close(after - policy.entropy(), recorded("actual"), &format!("{name} at {eta}"));
        }
    }
    assert_eq!(by_eta.len(), 4, "step sizes recorded");
}

pub(crate) fn fit(case: &Case) {
    let (entropy, reward) = (numbers(case.input("H")), numbers(case.input("R")));
    let law = PerformanceLaw::fit(&entropy, &reward).expect("points that differ");
    let rmse = law.rmse_on(&entropy, &reward).expect("points");
    for (name, fitted) in
        [("a", law.a), ("b", law.b), ("ceiling_H0", law.ceiling()), ("rmse", rmse)]
    {
        assert_close(fitted, number(case.output(name)), name);
    }
}
