//! Vectors over the actions of a state: sizes, gaps, steps, random columns.

use crate::population::State;
use entropy_core::Categorical;
use ndarray_rand::rand_distr::{Distribution, StandardNormal};
use rand::distr::weighted::WeightedIndex;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;
use serde_json::Value;
use std::iter::zip;

/// `f` of each state, on all threads; the results stand in the order of the states.
pub(super) fn over_states<T: Send>(states: &[State], f: impl Fn(&State) -> T + Sync) -> Vec<T> {
    states.par_iter().map(&f).collect()
}

/// Random numbers of case `index` of the checks that `salt` tells apart.
pub(super) fn stream(seed: u64, salt: u64, index: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed ^ salt);
    rng.set_stream(index);
    rng
}

pub(super) fn normals(rng: &mut impl Rng, count: usize) -> Vec<f64> {
    (0..count).map(|_| StandardNormal.sample(rng)).collect()
}

pub(super) fn sampled_actions(
    policy: &Categorical,
    count: usize,
    rng: &mut impl Rng,
) -> Vec<usize> {
    let choice = WeightedIndex::new(policy.probs()).expect("probabilities are weights");
    (0..count).map(|_| choice.sample(rng)).collect()
}

/// Mean of the values, and their variance about it, as estimated from a sample.
pub(super) fn moments(values: &[f64]) -> (f64, f64) {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    (mean, values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0))
}

/// Largest size of a value.
pub(super) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |largest, value| largest.max(value.abs()))
}

/// Largest difference of two columns; infinite if one is not a number.
pub(super) fn largest_gap(computed: &[f64], expected: &[f64]) -> f64 {
    let gaps = zip(computed, expected).map(|(computed, expected)| (computed - expected).abs());
    gaps.fold(0.0, |largest, gap| if gap.is_nan() { f64::INFINITY } else { largest.max(gap) })
}

/// Largest less smallest value.
pub(super) fn span(values: impl IntoIterator<Item = f64>) -> f64 {
    let (low, high) = values
        .into_iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
    high - low
}

/// Largest less smallest value over the possible actions.
pub(super) fn range(policy: &Categorical, step: &[f64]) -> f64 {
    let possible = zip(policy.log_probs(), step)
        .filter(|(log_prob, _)| **log_prob > f64::NEG_INFINITY)
        .map(|(_, value)| *value);
    span(possible)
}

pub(super) fn scaled(step: &[f64], eta: f64) -> Vec<f64> {
    step.iter().map(|step| eta * step).collect()
}

pub(super) fn policy(logits: &[f64]) -> Categorical {
    Categorical::from_logits(logits).expect("a finite logit")
}

pub(super) fn moved(before: &Categorical, step: &[f64], eta: f64) -> Categorical {
    let logits: Vec<f64> =
        zip(before.centred_log_probs(), step).map(|(z, step)| z + eta * step).collect();
    policy(&logits)
}

/// Derivative at 0 by a difference whose error falls with the fourth power of its width.
pub(super) fn difference(f: impl Fn(f64) -> f64) -> f64 {
    let width = 2e-3;
    let slope = |width: f64| (f(width) - f(-width)) / (2.0 * width);
    (4.0 * slope(0.5 * width) - slope(width)) / 3.0
}

pub(super) fn numerical_gradient(point: &[f64], f: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    let slope = |index: usize| {
        difference(|shift| {
            let mut moved = point.to_vec();
            moved[index] += shift;
            f(&moved)
        })
    };
    (0..point.len()).map(slope).collect()
}

/// Closed-form trajectories and values of GRPO's clock, computed with 45 to 1600 digits: decimal strings.
pub(super) fn recorded() -> Value {
    serde_json::from_str(include_str!("recorded_flows.json"))
        .expect("the recorded numbers are JSON")
}

pub(super) fn number(value: &Value) -> f64 {
    value.as_str().and_then(|text| text.parse().ok()).expect("a decimal string")
}

pub(super) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(number).collect()
}
