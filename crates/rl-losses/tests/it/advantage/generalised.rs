//! Generalised advantage estimation, with a critic.

use rl_losses::{
    AdvantageEstimator, Gae, GeneralisedAdvantages, Reinforce, RolloutColumns,
    generalised_advantages,
};

const REWARDS: [f64; 4] = [1.0, 1.0, 1.0, 0.5];
const VALUES: [f64; 4] = [0.2, -0.4, 1.5, 0.7];

fn gae(lambda: f64, ends: Option<&[f64]>) -> GeneralisedAdvantages {
    let settings = Gae { discount: 0.9, lambda, whiten: false };
    generalised_advantages(&REWARDS, &VALUES, ends, &[3, 1], settings).expect("the columns fit")
}

#[test]
fn with_lambda_one_the_returns_are_those_without_a_critic() {
    let ends = [2.0, 0.0];
    let columns = RolloutColumns {
        sequence_lengths: &[3, 1],
        token_rewards: Some(&REWARDS),
        end_values: Some(&ends),
        ..RolloutColumns::default()
    };
    let plain = Reinforce { discount: 0.9, ..Reinforce::default() };
    let returns = AdvantageEstimator::Reinforce(plain).advantages(&columns).unwrap();
    for (actual, expected) in std::iter::zip(gae(1.0, Some(&ends)).returns, returns) {
        assert!((actual - expected).abs() < 1e-14, "{actual} {expected}");
    }
}

#[test]
fn with_lambda_zero_an_advantage_is_the_error_of_one_step() {
    let advantages = gae(0.0, None).advantages;
    let expected = [1.0 - 0.36 - 0.2, 1.0 + 1.35 + 0.4, 1.0 - 1.5, 0.5 - 0.7];
    for (actual, expected) in std::iter::zip(advantages, expected) {
        assert!((actual - expected).abs() < 1e-14, "{actual} {expected}");
    }
}

#[test]
fn a_cut_off_adds_its_value_and_an_end_does_not() {
    let (ended, cut) = (gae(0.5, None).advantages, gae(0.5, Some(&[2.0, 0.0])).advantages);
    // γ V at the last token, (γλ) less with each token before it.
    let expected = [1.8 * 0.45 * 0.45, 1.8 * 0.45, 1.8, 0.0];
    for ((cut, ended), expected) in std::iter::zip(std::iter::zip(cut, ended), expected) {
        assert!((cut - ended - expected).abs() < 1e-14);
    }
}
