//! Models of growing size: each sees more of the features that decide what is right.

use super::{Environment, Features, Parameters, Questions, Shape, draw_action, normal, prompt_rng};
use std::f64::consts::PI;

/// A log-linear model that sees `visible` of the features of its world.
///
/// The true logit of an action is `u = 3 f·w` with `f ~ N(0, 1)` and `w_j ∝ j^{-decay}` of length 1;
/// the right token is drawn from `softmax(u)`. A model of `m` features has the prior of one who has
/// learnt all that these can tell, `z_0 = u_m / √(1 + 3 Var(u - u_m) / π²)` (the logistic's way of
/// averaging over the rest), and trains `β z_0 + 0.3 f·θ` over its first features, 16 at most.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizeSetting {
    /// Prompts trained on, tokens, actions.
    pub shape: Shape,
    /// Prompts examined on.
    pub validation_prompts: usize,
    /// Features of the world.
    pub features: usize,
    /// `m`: features the model sees, the most telling first.
    pub visible: usize,
    /// How fast features lose their importance.
    pub decay: f64,
}

/// Most features whose weights are trained.
const LARGEST_TRAINED: usize = 16;
const TRUE_SCALE: f64 = 3.0;
const TRAINED_SCALE: f64 = 0.3;

impl SizeSetting {
    /// A model of `visible` features of 64: 1024 prompts, 2048 to be examined on, two tokens of
    /// eight actions.
    pub const fn of(visible: usize) -> Self {
        Self {
            shape: Shape { prompts: 1024, positions: 2, actions: 8 },
            validation_prompts: 2048,
            features: 64,
            visible,
            decay: 0.7,
        }
    }

    /// Draws the environment number `seed`; models of all sizes meet the same questions.
    pub fn draw(&self, seed: u64) -> Environment {
        let held_out = Shape { prompts: self.validation_prompts, ..self.shape };
        let mut start = vec![0.0; 1 + self.trained()];
        start[0] = 1.0;
        Environment {
            training: self.questions(seed, 0, self.shape),
            validation: Some(self.questions(seed, self.shape.prompts, held_out)),
            start,
        }
    }

    fn trained(&self) -> usize {
        self.visible.min(LARGEST_TRAINED)
    }

    /// Weights of the true logit, of length 3.
    fn weights(&self) -> Vec<f64> {
        let raw: Vec<f64> = (1..=self.features).map(|j| (j as f64).powf(-self.decay)).collect();
        let length = raw.iter().map(|w| w * w).sum::<f64>().sqrt();
        raw.iter().map(|w| TRUE_SCALE * w / length).collect()
    }

    fn questions(&self, seed: u64, first: usize, shape: Shape) -> Questions {
        let weights = self.weights();
        let unseen: f64 = weights[self.visible..].iter().map(|w| w * w).sum();
        let confidence = (1.0 + 3.0 * unseen / (PI * PI)).sqrt().recip();
        let weighted = self.trained();
        let mut prior = Vec::with_capacity(shape.table());
        let mut values = Vec::with_capacity(shape.table() * weighted);
        let mut quality = vec![0.0; shape.table()];
        let mut logits = Vec::with_capacity(shape.actions);
        for prompt in first..first + shape.prompts {
            let mut rng = prompt_rng(seed, prompt);
            for _ in 0..shape.positions {
                let begin = prior.len();
                logits.clear();
                for _ in 0..shape.actions {
                    let (mut known, mut all) = (0.0, 0.0);
                    for (index, weight) in weights.iter().enumerate() {
                        let feature = normal(&mut rng);
                        all += feature * weight;
                        if index < self.visible {
                            known = all;
                        }
                        if index < weighted {
                            values.push(TRAINED_SCALE * feature);
                        }
                    }
                    prior.push(confidence * known);
                    logits.push(all);
                }
                quality[begin + draw_action(&logits, &mut rng)] = 1.0;
            }
        }
        let features = Features { prior, values, count: weighted };
        let questions = Questions::new(shape, quality, Parameters::Weights(features));
        questions.expect("tables of the shape, qualities of 0 and 1")
    }
}
