//! A few weights of features shared by all prompts, examined on prompts not trained on.

use super::{Environment, Features, Parameters, Questions, Shape, draw_action, normal, prompt_rng};

/// A log-linear policy `z = β z_0 + ψ·θ` over tokens, with exactly one right token in each state.
///
/// Prior logits are `z_0 = e^{μ + d N} · N(0, 1)`, features `ψ ~ N(0, 1/n)`; the right token is drawn
/// from `softmax(1.5 z_0 + ψ·θ*)` with a hidden `θ*` of length `½ √n`. Training starts at `β = 1`,
/// `θ = 0`, so there is something to learn that transfers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SharedSetting {
    /// Prompts trained on, tokens, actions.
    pub shape: Shape,
    /// Prompts examined on.
    pub validation_prompts: usize,
    /// `n`: number of features.
    pub features: usize,
    /// `μ`: logarithm of the prior's scale in the median state.
    pub prior_log_scale: f64,
    /// `d`: by how much it differs between states.
    pub prior_spread: f64,
}

impl SharedSetting {
    /// The held-out law (L2): 2048 prompts, 4096 to be examined on, four tokens of eight actions.
    pub const HELD_OUT: Self = Self {
        shape: Shape { prompts: 2048, positions: 4, actions: 8 },
        validation_prompts: 4096,
        features: 16,
        prior_log_scale: 1.4,
        prior_spread: 0.8,
    };

    /// Draws the environment number `seed`.
    pub fn draw(&self, seed: u64) -> Environment {
        // Streams count prompts from 0; the hidden weights have the last one.
        let mut rng = prompt_rng(seed, usize::MAX);
        let mut hidden: Vec<f64> = (0..self.features).map(|_| normal(&mut rng)).collect();
        let length = hidden.iter().map(|x| x * x).sum::<f64>().sqrt();
        let wanted = 0.5 * (self.features as f64).sqrt();
        for weight in &mut hidden {
            *weight *= wanted / length;
        }
        let mut start = vec![0.0; 1 + self.features];
        start[0] = 1.0;
        let held_out = Shape { prompts: self.validation_prompts, ..self.shape };
        Environment {
            training: self.questions(seed, 0, self.shape, &hidden),
            validation: Some(self.questions(seed, self.shape.prompts, held_out, &hidden)),
            start,
        }
    }

    /// The questions of prompts `first..`, as many as `shape` says.
    fn questions(&self, seed: u64, first: usize, shape: Shape, hidden: &[f64]) -> Questions {
        let deviation = 1.0 / (self.features as f64).sqrt();
        let mut prior = Vec::with_capacity(shape.table());
        let mut values = Vec::with_capacity(shape.table() * self.features);
        let mut quality = vec![0.0; shape.table()];
        let mut logits = Vec::with_capacity(shape.actions);
        for prompt in first..first + shape.prompts {
            let mut rng = prompt_rng(seed, prompt);
            for _ in 0..shape.positions {
                let scale = (self.prior_log_scale + self.prior_spread * normal(&mut rng)).exp();
                let begin = prior.len();
                logits.clear();
                for _ in 0..shape.actions {
                    let prior_logit = scale * normal(&mut rng);
                    let mut logit = 1.5 * prior_logit;
                    for weight in hidden {
                        let value = deviation * normal(&mut rng);
                        logit += value * weight;
                        values.push(value);
                    }
                    prior.push(prior_logit);
                    logits.push(logit);
                }
                quality[begin + draw_action(&logits, &mut rng)] = 1.0;
            }
        }
        let features = Features { prior, values, count: self.features };
        let questions = Questions::new(shape, quality, Parameters::Weights(features));
        questions.expect("tables of the shape, qualities of 0 and 1")
    }
}
