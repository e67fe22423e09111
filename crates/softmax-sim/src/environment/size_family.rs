//! Models of growing size: each sees more of the features that decide what is right.

use super::{Environment, Features, Shape, normal};
use crate::experiment::error::check_at_least;
use crate::settings::settings;
use rand_chacha::ChaCha8Rng;
use std::f64::consts::PI;

settings! {
    /// A log-linear model that sees `visible` of the features of its world.
    ///
    /// The true logit of an action is `u = 3 f·w` with `f ~ N(0, 1)` and `w_j ∝ j^{-decay}` of length 1;
    /// the right token is drawn from `softmax(u)`. A model of `m` features has the prior of one who has
    /// learnt all that these can tell, `z_0 = u_m / √(1 + 3 Var(u - u_m) / π²)` (the logistic's way of
    /// averaging over the rest), and trains `β z_0 + 0.3 f·θ` over its first features, 16 at most.
    pub struct SizeSetting {
        /// Prompts trained on.
        pub prompts: usize = 1024, check_at_least(1.0);
        /// Tokens of a response.
        pub positions: usize = 2, check_at_least(1.0);
        /// Actions for each token.
        pub actions: usize = 8, check_at_least(2.0);
        /// Prompts examined on.
        pub validation_prompts: usize = 2048, check_at_least(1.0);
        /// Features of the world.
        pub features: usize = 64;
        /// `m`: features the model sees, the most telling first.
        pub visible: usize = 16, check_at_least(1.0);
        /// How fast features lose their importance.
        pub decay: f64 = 0.7, check_finite;
    } also |size| check_at_least("features", size.features as f64, size.visible as f64)
}

/// Most features whose weights are trained.
const LARGEST_TRAINED: usize = 16;
const TRUE_SCALE: f64 = 3.0;
const TRAINED_SCALE: f64 = 0.3;

impl SizeSetting {
    /// A model of `visible` features of 64: 1024 prompts, 2048 to be examined on, two tokens of
    /// eight actions.
    pub const fn of(visible: usize) -> Self {
        Self { visible, ..Self::DEFAULT }
    }

    /// Draws the environment number `seed`; models of all sizes meet the same questions.
    pub fn draw(&self, seed: u64) -> Environment {
        let Self { prompts, positions, actions, .. } = *self;
        let shape = Shape { prompts, positions, actions };
        let weights = self.weights();
        let unseen: f64 = weights[self.visible..].iter().map(|w| w * w).sum();
        let confidence = (1.0 + 3.0 * unseen / (PI * PI)).sqrt().recip();
        let trained = self.visible.min(LARGEST_TRAINED);
        let state = |rng: &mut ChaCha8Rng, features: &mut Features, logits: &mut Vec<f64>| {
            for _ in 0..actions {
                let (mut known, mut all) = (0.0, 0.0);
                for (index, weight) in weights.iter().enumerate() {
                    let feature = normal(rng);
                    all += feature * weight;
                    if index < self.visible {
                        known = all;
                    }
                    if index < trained {
                        features.values.push(TRAINED_SCALE * feature);
                    }
                }
                features.prior.push(confidence * known);
                logits.push(all);
            }
        };
        Environment::log_linear(seed, shape, self.validation_prompts, trained, state)
    }

    /// Weights of the true logit, of length 3.
    fn weights(&self) -> Vec<f64> {
        let raw: Vec<f64> = (1..=self.features).map(|j| (j as f64).powf(-self.decay)).collect();
        let length = raw.iter().map(|w| w * w).sum::<f64>().sqrt();
        raw.iter().map(|w| TRUE_SCALE * w / length).collect()
    }
}
