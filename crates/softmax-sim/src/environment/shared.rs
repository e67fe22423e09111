//! A few weights of features shared by all prompts, examined on prompts not trained on.

use super::{Environment, Features, Shape, normal, prompt_rng};
use crate::settings::settings;
use rand_chacha::ChaCha8Rng;

settings! {
    /// A log-linear policy `z = β z_0 + ψ·θ` over tokens, with exactly one right token in each state.
    ///
    /// Prior logits are `z_0 = e^{μ + d N} · N(0, 1)`, features `ψ ~ N(0, 1/n)`; the right token is drawn
    /// from `softmax(1.5 z_0 + ψ·θ*)` with a hidden `θ*` of length `½ √n`. Training starts at `β = 1`,
    /// `θ = 0`, so there is something to learn that transfers.
    pub struct SharedSetting {
        /// Prompts trained on.
        pub prompts: usize = 2048, check_at_least(1.0);
        /// Tokens of a response.
        pub positions: usize = 4, check_at_least(1.0);
        /// Actions for each token.
        pub actions: usize = 8, check_at_least(2.0);
        /// Prompts examined on.
        pub validation_prompts: usize = 4096, check_at_least(1.0);
        /// `n`: number of features.
        pub features: usize = 16, check_at_least(1.0);
        /// `μ`: logarithm of the prior's scale in the median state.
        pub prior_log_scale: f64 = 1.4, check_finite;
        /// `d`: by how much it differs between states.
        pub prior_spread: f64 = 0.8, check_at_least(0.0);
    }
}

impl SharedSetting {
    /// The held-out law (L2): 2048 prompts, 4096 to be examined on, four tokens of eight actions.
    pub const HELD_OUT: Self = Self::DEFAULT;

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
        let Self { prompts, positions, actions, .. } = *self;
        let shape = Shape { prompts, positions, actions };
        let deviation = 1.0 / (self.features as f64).sqrt();
        let state = |rng: &mut ChaCha8Rng, features: &mut Features, logits: &mut Vec<f64>| {
            let scale = (self.prior_log_scale + self.prior_spread * normal(rng)).exp();
            for _ in 0..actions {
                let prior_logit = scale * normal(rng);
                let mut logit = 1.5 * prior_logit;
                for weight in &hidden {
                    let value = deviation * normal(rng);
                    logit += value * weight;
                    features.values.push(value);
                }
                features.prior.push(prior_logit);
                logits.push(logit);
            }
        };
        Environment::log_linear(seed, shape, self.validation_prompts, self.features, state)
    }
}
