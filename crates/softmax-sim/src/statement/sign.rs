//! Counter-examples by hand: small policies where the sign is known, and where careless readings of the
//! theory get it wrong.

use super::theorems::Predict;
use super::vectors::policy;
use crate::report::Row;
use entropy_core::UpdateRule;

/// Step size that the exact change is measured at.
const ETA: f64 = 0.1;

/// By hand, from `Cov(log π, A)` and `Σ π² (log π + H) (A - E A)`:
///
/// 1. The second of three arms is best: probable enough for Theorem 2 to lower the entropy, less
///    probable than the first, so that the policy gradient levels the two.
/// 2. The probable arm is best: both lower.
/// 3. The rare arm is best: both raise.
/// 4. A constant advantage moves nothing, so both change nothing.
///
/// Each is a policy, its advantage, and the sign of the change of entropy under the policy gradient and the natural one.
const EXAMPLES: [(&[f64], &[f64], [f64; 2]); 4] = [
    (&[0.5, 0.45, 0.05], &[0.0, 1.0, 0.0], [1.0, -1.0]),
    (&[0.9, 0.1], &[1.0, 0.0], [-1.0, -1.0]),
    (&[0.9, 0.1], &[0.0, 1.0], [1.0, 1.0]),
    (&[0.7, 0.2, 0.1], &[3.0; 3], [0.0, 0.0]),
];

/// Checks the signs of `predict` and of the exact change against the examples.
pub fn check(predict: Predict) -> Vec<Row> {
    let (mut predicted, mut exact) = (Vec::new(), Vec::new());
    for (probs, advantage, signs) in EXAMPLES {
        let logits: Vec<f64> = probs.iter().map(|p| p.ln()).collect();
        let policy = policy(&logits);
        let rules = [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient];
        for (rule, sign) in std::iter::zip(rules, signs) {
            let step = rule.step(&policy, advantage, ETA);
            predicted.push(disagreement(predict(rule, &policy, advantage, ETA), sign));
            exact.push(disagreement(policy.entropy_change(&step), sign));
        }
    }
    let by =
        "π = (.5, .45, .05), A = (0, 1, 0): PG raises H, NPG lowers it; and three plainer ones";
    vec![
        Row::of("sign of the prediction, disagreements", 0.0, predicted).by(by),
        Row::of("sign of the exact change at η = 0.1, disagreements", 0.0, exact).by(by),
    ]
}

/// 0 if `value` has the sign, 1 if not.
fn disagreement(value: f64, sign: f64) -> f64 {
    let actual = if value.abs() < 1e-16 { 0.0 } else { value.signum() };
    f64::from(!(actual - sign).abs().le(&0.5))
}
