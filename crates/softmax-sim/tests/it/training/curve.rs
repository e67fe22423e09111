//! The course of a run.

use softmax_sim::training::{Curve, CurvePoint};

fn curve(points: &[(usize, f64, f64)]) -> Curve {
    let point = |&(rollouts, entropy, reward): &(usize, f64, f64)| CurvePoint {
        rollouts,
        entropy,
        reward,
        cool_reward: reward,
        greedy_reward: reward,
    };
    Curve { points: points.iter().map(point).collect() }
}

#[test]
fn shares_are_parts_of_the_whole_change_at_the_last_evaluation_before() {
    let run = curve(&[(0, 2.0, 0.2), (10, 1.0, 0.6), (50, 0.5, 0.9), (100, 0.0, 1.0)]);
    let (entropy, reward) = run.shares_spent(0.4);
    assert!((entropy - 0.5).abs() < 1e-15 && (reward - 0.5).abs() < 1e-15);
    assert_eq!(run.shares_spent(1.0), (1.0, 1.0));
}

#[test]
fn the_law_of_a_run_without_change_is_refused() {
    assert!(curve(&[(0, 1.0, 0.2), (1, 1.0, 0.3)]).law().is_err());
    let law = curve(&[(0, 1.0, 0.2), (1, 0.5, 0.3), (2, 0.0, 0.4)]).law().unwrap();
    assert!(law.a > 0.0 && law.points == 3);
}
