//! Natural-gradient steps of a bounded divergence, as trust-region policy optimisation takes them.

use super::rows::Rows;
use crate::environment::Questions;
use crate::settings::settings;
use std::iter::zip;

/// Most steps of conjugate gradients.
const ITERATIONS: usize = 20;
/// Squared residual, as a share of the gradient's, at which they end.
const RESIDUAL: f64 = 1e-10;
/// Most halvings of a step whose divergence is beyond the bound.
const HALVINGS: usize = 20;

settings! {
    /// A step `Δ` along `F⁻¹ g` of the length at which `½ Δᵀ F Δ`, and then the divergence itself, is at most `kl`.
    ///
    /// `F` is the Fisher information of the states of a mini-batch, each weighted by its tokens and exact over the actions.
    /// Source: Schulman et al. 2015, [arXiv:1502.05477](https://arxiv.org/abs/1502.05477), without its test of the objective.
    pub struct TrustRegion {
        /// Bound on the mean `KL(π_old ‖ π)` of a token over one step, in nats.
        pub kl: f64 = 1e-3, check_positive;
        /// Added to the diagonal of `F`.
        pub damping: f64 = 1e-4, check_at_least(0.0);
    }
}

impl TrustRegion {
    /// Moves `parameters` down a loss whose derivatives by the logits of `prompts` are `d_logits`. `policy` is that of the
    /// parameters on them, `weights`, `[prompts, states]`, sum to 1.
    pub(super) fn step(
        self,
        questions: &Questions,
        parameters: &mut [f64],
        prompts: &[usize],
        (policy, weights, d_logits): (&Rows, &[f64], &[f64]),
    ) {
        let gradient = questions.gradient(parameters, prompts, d_logits);
        let fisher = |direction: &[f64]| {
            let slopes = questions.tangent(parameters, prompts, direction);
            let spread = information(policy, weights, &slopes);
            questions.gradient(parameters, prompts, &spread)
        };
        let direction = conjugate_gradients(&gradient, |direction| {
            let mut product = fisher(direction);
            for (product, value) in zip(&mut product, direction) {
                *product += self.damping * value;
            }
            product
        });
        let curvature = dot(&direction, &fisher(&direction));
        if curvature <= 0.0 {
            return; // no gradient, or none that moves the policy
        }
        let mut length = (2.0 * self.kl / curvature).sqrt();
        let before = parameters.to_vec();
        for _ in 0..HALVINGS {
            for (parameter, (before, step)) in zip(&mut *parameters, zip(&before, &direction)) {
                *parameter = before - length * step;
            }
            let after = Rows::of(questions, parameters, prompts);
            if policy.divergence(after.log_probs(), weights) <= self.kl {
                return;
            }
            length *= 0.5;
        }
        parameters.copy_from_slice(&before);
    }
}

/// `w π (x - E_π x)` in each state, for `slopes` `x`, `[prompts, states, actions]`.
fn information(policy: &Rows, weights: &[f64], slopes: &[f64]) -> Vec<f64> {
    let actions = slopes.len() / weights.len();
    let states = zip(policy.probs().chunks_exact(actions), slopes.chunks_exact(actions));
    let spread = zip(states, weights).flat_map(|((probs, slopes), weight)| {
        let mean = dot(probs, slopes);
        zip(probs, slopes).map(move |(prob, slope)| weight * prob * (slope - mean))
    });
    spread.collect()
}

/// Solves `F x = gradient` for a positive `F` given by its products.
fn conjugate_gradients(gradient: &[f64], product: impl Fn(&[f64]) -> Vec<f64>) -> Vec<f64> {
    let mut solution = vec![0.0; gradient.len()];
    let mut residual = gradient.to_vec();
    let mut direction = residual.clone();
    let mut squared = dot(&residual, &residual);
    let enough = RESIDUAL * squared;
    for _ in 0..ITERATIONS {
        if squared <= enough {
            break;
        }
        let moved = product(&direction);
        let rate = squared / dot(&direction, &moved);
        for (value, step) in zip(&mut solution, &direction) {
            *value += rate * step;
        }
        for (value, step) in zip(&mut residual, &moved) {
            *value -= rate * step;
        }
        let before = std::mem::replace(&mut squared, dot(&residual, &residual));
        for (step, value) in zip(&mut direction, &residual) {
            *step = value + squared / before * *step;
        }
    }
    solution
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    zip(a, b).map(|(a, b)| a * b).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::{Environment, Parameters, Shape};

    /// One state: with damping `λ` a step `δ` solves `π (δ - E δ) + λ δ ∝ π (A - E A)`; without, it goes along `A`.
    #[test]
    fn a_step_is_damped() {
        let shape = Shape { prompts: 1, positions: 1, actions: 4 };
        let questions = Questions::new(shape, vec![1.0; 4], Parameters::Logits).unwrap();
        let start = [0.3, -1.0, 0.8, 0.1];
        let rows = Rows::of(&questions, &start, &[0]);
        let centred = |values: &[f64]| -> Vec<f64> {
            let mean = dot(rows.probs(), values);
            zip(rows.probs(), values).map(|(p, x)| p * (x - mean)).collect()
        };
        let gradient = centred(&[1.0, -0.5, 0.2, 2.0]);
        let d_logits: Vec<f64> = gradient.iter().map(|slope| -slope).collect();
        for (damping, tolerance) in [(0.0, 1e-6), (0.3, 1e-5)] {
            let mut moved = start.to_vec();
            let region = TrustRegion { kl: 1e-6, damping };
            region.step(&questions, &mut moved, &[0], (&rows, &[1.0], &d_logits));
            let step: Vec<f64> = zip(&moved, start).map(|(after, before)| after - before).collect();
            let product = zip(centred(&step), &step).map(|(spread, step)| spread + damping * step);
            let rates: Vec<f64> = zip(product, &gradient).map(|(x, slope)| x / slope).collect();
            let near = |rate: &f64| (rate / rates[0] - 1.0).abs() < tolerance;
            assert!(rates[0] > 0.0 && rates.iter().all(near), "{rates:?}");
        }
    }

    /// A step that flips a policy of `e^-100` against 1 diverges by more than 20 halvings take back: nothing moves.
    #[test]
    fn a_step_that_stays_beyond_the_bound_is_not_taken() {
        let shape = Shape { prompts: 1, positions: 1, actions: 2 };
        let questions = Questions::new(shape, vec![1.0; 2], Parameters::Logits).unwrap();
        let start = [100.0, 0.0];
        let rows = Rows::of(&questions, &start, &[0]);
        let mut moved = start.to_vec();
        let region = TrustRegion { kl: 1e-3, damping: 0.0 };
        let slope = (-100f64).exp();
        region.step(&questions, &mut moved, &[0], (&rows, &[1.0], &[slope, -slope]));
        assert_eq!(moved, start);
    }

    /// Products with `F` are the second derivatives of the divergence, also through a network.
    #[test]
    fn the_information_is_the_curvature_of_the_divergence() {
        let shape = Shape { prompts: 2, positions: 1, actions: 3 };
        let questions = Questions::new(shape, vec![1.0; 6], Parameters::Logits).unwrap();
        let environment = Environment::new(questions, None, vec![0.4, 0.0, -0.3, 1.0, 0.2, 0.0]);
        let environment = environment.unwrap().with_network(3, 4, 0).unwrap();
        let (questions, start) = (environment.training(), environment.start());
        let (prompts, weights) = ([0, 1], [0.25, 0.75]);
        let policy = Rows::of(questions, start, &prompts);
        let direction: Vec<f64> = (0..start.len()).map(|i| (1.0 + i as f64).sin()).collect();
        let slopes = questions.tangent(start, &prompts, &direction);
        let product = questions.gradient(start, &prompts, &information(&policy, &weights, &slopes));
        let moved = |width: f64| {
            let moved: Vec<f64> = zip(start, &direction).map(|(x, d)| x + width * d).collect();
            policy.divergence(Rows::of(questions, &moved, &prompts).log_probs(), &weights)
        };
        let curvature = (moved(1e-3) + moved(-1e-3)) / 1e-6;
        let computed = dot(&direction, &product);
        assert!((curvature / computed - 1.0).abs() < 1e-4, "{curvature} for {computed}");
    }
}
