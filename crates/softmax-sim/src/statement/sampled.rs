//! The sampled gradient: the policy gradient from a few tokens moves the entropy as Theorem 1 says on
//! average, with a variance known beforehand.

use super::token_loss::Tokens;
use super::vectors::{moments, normals, policy, sampled_actions, stream};
use crate::report::Row;
use entropy_core::{Categorical, UpdateRule, predicted_change};
use rayon::prelude::*;
use rl_losses::{PolicyLoss, PpoClip};

/// States, batches of each, tokens of a batch, actions of a state.
const STATES: u64 = 40;
const BATCHES: usize = 1500;
const TOKENS: usize = 8;
const ACTIONS: usize = 6;

/// A formula like [`predict`].
pub type Predict = fn(&Categorical, &[f64]) -> (f64, f64);

/// Mean and variance of the first-order change of entropy from one sample, per unit of step size.
pub fn predict(policy: &Categorical, advantage: &[f64]) -> (f64, f64) {
    let mean = UpdateRule::PolicyGradient.predicted_entropy_change(policy, advantage, 1.0);
    (mean, predicted_change::sampled_variance(policy, advantage, 1.0))
}

/// Checks `predict` against steps down the loss that trains the model, on sampled tokens.
pub fn check(seed: u64, predict: Predict) -> Vec<Row> {
    let readings: Vec<[f64; 2]> =
        (0..STATES).into_par_iter().map(|state| deviations(seed, state, predict)).collect();
    let by = "PolicyLoss on 1500 batches of 8 tokens sampled in each of 40 states of 6 actions";
    let [deviations, ratios] = [0, 1].map(|part| readings.iter().map(move |reading| reading[part]));
    vec![
        Row::of("mean change of entropy, in standard errors", 5.5, deviations.map(f64::abs)).by(by),
        Row::near("its variance over the predicted one, distance from 1", 1.0, 0.5, ratios).by(by),
    ]
}

/// Deviation of the mean in standard errors, and the ratio of variances, in one state.
fn deviations(seed: u64, state: u64, predict: Predict) -> [f64; 2] {
    let mut rng = stream(seed, 0x7361_6d70, state);
    let policy = policy(&normals(&mut rng, ACTIONS));
    let advantage = normals(&mut rng, ACTIONS);
    let loss = PolicyLoss::PpoClip(PpoClip::default());
    let changes: Vec<f64> = (0..BATCHES)
        .map(|_| {
            let actions = sampled_actions(&policy, TOKENS, &mut rng);
            let tokens = Tokens::new(&policy, &policy, &advantage, actions);
            let plan = tokens.plan(&loss, &mut rng);
            policy.entropy_change_first_order(&tokens.step(&loss, &plan))
        })
        .collect();
    let count = BATCHES as f64;
    let (mean, variance) = moments(&changes);
    let (expected, of_one) = predict(&policy, &advantage);
    let expected_variance = of_one / TOKENS as f64;
    [(mean - expected) / (expected_variance / count).sqrt(), variance / expected_variance]
}
