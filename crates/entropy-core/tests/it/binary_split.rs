//! Entropy of a policy over right and wrong actions, split by success.

use entropy_core::{BinarySplit, Categorical, NaturalFlow};

#[test]
fn the_parts_make_up_the_entropy_along_the_natural_flow() {
    let start = Categorical::from_logits(&[0.5, -1.0, 2.0, 0.0, -0.5]).unwrap();
    let is_right = [true, false, false, true, false];
    let reward = is_right.map(f64::from);
    let split = BinarySplit::of(&start, &is_right);
    let flow = NaturalFlow::new(start, &reward).unwrap();
    for time in [0.0, 0.5, 3.0, 40.0] {
        let (point, split) = (flow.at(time), split.after(time));
        assert!((split.success() - point.reward).abs() < 1e-15);
        let entropy = split.entropy();
        assert!((entropy - point.policy.entropy()).abs() < 1e-14 * entropy, "{time}: {entropy}");
    }
    assert!(split.after(50.0).entropy() - split.entropy_right < 1e-15);
}

#[test]
fn the_gap_gives_the_covariance_of_the_second_theorem() {
    let policy = Categorical::from_logits(&[0.5, -1.0, 2.0, 0.0, -0.5]).unwrap();
    let is_right = [true, false, false, true, false];
    let split = BinarySplit::of(&policy, &is_right);
    let expected = policy.covariance(policy.log_probs(), &is_right.map(f64::from));
    assert!((split.covariance() - expected).abs() < 1e-15, "{split:?}");
    // k right and m wrong actions alike within their kind: logit R + ln(m/k).
    let symmetric = Categorical::from_logits(&[1.0, 1.0, 0.0, 0.0, 0.0]).unwrap();
    let split = BinarySplit::of(&symmetric, &[true, true, false, false, false]);
    let gap = split.log_odds + (3.0f64 / 2.0).ln();
    assert!((split.log_prob_gap() - gap).abs() < 1e-15);
    assert!((gap - 1.0).abs() < 1e-15);
}

#[test]
fn certain_verdicts_have_no_entropy_of_their_own() {
    let policy = Categorical::from_logits(&[0.0, 0.0, f64::NEG_INFINITY]).unwrap();
    let all_right = BinarySplit::of(&policy, &[true, true, false]);
    assert!((all_right.entropy() - 2f64.ln()).abs() < 1e-15, "{all_right:?}");
    assert!((all_right.success() - 1.0).abs() < 1e-15);
    let all_wrong = BinarySplit::of(&policy, &[false, false, true]);
    assert!((all_wrong.entropy() - 2f64.ln()).abs() < 1e-15, "{all_wrong:?}");
    assert!(all_wrong.success().abs() < 1e-15);
}
